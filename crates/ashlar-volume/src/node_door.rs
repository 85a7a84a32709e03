//! The door of a node on one of its reactors.
//!
//! Each reactor keeps a copy of the namespace table and renews it when the table's generation has
//! moved: a command costs one atomic load more than a lookup. Volumes of pools that live here are
//! called directly; others by message.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ashlar_block::latency::{Histogram, OpKind};
use ashlar_block::{Cause, IoError, VolumeUuid};

use crate::dispatcher::Dispatcher;
use crate::door::{
    Door, FormatRequest, HealthFigures, HostNqn, NamespaceInfo, Nsid, SANITIZE_WHOLE,
    SanitizeState, SubsystemInfo,
};
use crate::drive_provider::DriveProvider;
use crate::node::activity::{latency_of, reset};
use crate::reactor_pools::ReactorPools;
use crate::table::{Place, Row};

mod volume;

pub use volume::NodeVolume;

/// All volumes of a node, as one reactor reaches them.
pub struct NodeDoor<B: DriveProvider, C: Dispatcher<B>> {
    inner: Rc<Inner<B, C>>,
}

impl<B: DriveProvider, C: Dispatcher<B>> Clone for NodeDoor<B, C> {
    fn clone(&self) -> Self {
        NodeDoor { inner: self.inner.clone() }
    }
}

struct Inner<B: DriveProvider, C: Dispatcher<B>> {
    home: Rc<ReactorPools<B>>,
    dispatcher: C,
    view: RefCell<Rc<View<B, C>>>,
}

/// The table as of one generation.
struct View<B: DriveProvider, C: Dispatcher<B>> {
    generation: u64,
    namespaces: BTreeMap<Nsid, Namespace<B, C>>,
}

struct Namespace<B: DriveProvider, C: Dispatcher<B>> {
    info: RefCell<NamespaceInfo>,
    used_bytes: Arc<AtomicU64>,
    place: Place,
    volume: NodeVolume<B, C>,
}

impl<B: DriveProvider, C: Dispatcher<B>> Namespace<B, C> {
    /// The namespace with what it holds now. Another borrower above us has had it refreshed
    /// already.
    fn refresh(&self) {
        if let Ok(mut info) = self.info.try_borrow_mut() {
            info.used_bytes = self.used_bytes.load(Ordering::Relaxed);
        }
    }
}

impl<B: DriveProvider, C: Dispatcher<B>> NodeDoor<B, C> {
    /// The door on `home`'s reactor.
    pub fn new(home: Rc<ReactorPools<B>>, dispatcher: C) -> Self {
        let view = RefCell::new(Rc::new(View { generation: 0, namespaces: BTreeMap::new() }));
        NodeDoor { inner: Rc::new(Inner { home, dispatcher, view }) }
    }

    fn view(&self) -> Rc<View<B, C>> {
        let inner = &self.inner;
        let seen = inner.view.borrow().clone();
        if seen.generation == inner.home.table().generation() {
            return seen;
        }
        let (generation, rows) = inner.home.table().rows();
        inner.home.keep_meters(&rows.values().map(|row| row.info.uuid).collect());
        let namespaces = rows.iter().map(|(nsid, row)| (*nsid, self.namespace(row))).collect();
        let view = Rc::new(View { generation, namespaces });
        inner.view.replace(view.clone());
        view
    }

    fn namespace(&self, row: &Row) -> Namespace<B, C> {
        let volume = NodeVolume::new(&self.inner.home, &self.inner.dispatcher, row);
        let (info, used_bytes) = (RefCell::new(row.info.clone()), row.used_bytes.clone());
        Namespace { info, used_bytes, place: row.place, volume }
    }

    /// The volumes behind the namespaces that `host` may see, or behind one of them.
    fn visible(&self, host: &HostNqn, nsid: Option<Nsid>) -> Arc<[VolumeUuid]> {
        let view = self.view();
        let infos = view.namespaces.values().map(|namespace| namespace.info.borrow());
        let wanted = infos
            .filter(|info| nsid.is_none_or(|nsid| nsid == info.nsid) && info.access.allows(host));
        wanted.map(|info| info.uuid).collect()
    }

    fn place(&self, host: &HostNqn, nsid: Nsid) -> Result<Place, IoError> {
        let view = self.view();
        let namespace = view.namespaces.get(&nsid);
        let visible = namespace.filter(|namespace| namespace.info.borrow().access.allows(host));
        visible.map(|namespace| namespace.place).ok_or_else(|| Cause::NoSuchVolume.into())
    }

    /// Where all volumes live that `host` may see.
    fn places(&self, host: &HostNqn) -> Vec<Place> {
        let view = self.view();
        let is_seen = |namespace: &&Namespace<B, C>| namespace.info.borrow().access.allows(host);
        view.namespaces.values().filter(is_seen).map(|namespace| namespace.place).collect()
    }

    /// Has all of these volumes refused to `host`, or none of them.
    async fn begin_sanitize(&self, host: &HostNqn, places: &[Place]) -> Result<(), IoError> {
        for (begun, place) in places.iter().copied().enumerate() {
            let host = host.clone();
            let refused = self.at_home(place, move |home| home.begin_sanitize(place, host)).await;
            let Err(error) = refused else { continue };
            for place in places[..begun].iter().copied() {
                let cancelled = self.at_home(place, move |home| home.cancel_sanitize(place)).await;
                if let Err(error) = cancelled {
                    let volume = place.volume.0;
                    tracing::error!(volume, %error, "a volume stays refused that is not sanitized");
                }
            }
            return Err(error);
        }
        Ok(())
    }

    async fn at_home<M, F>(&self, place: Place, make: M) -> Result<(), IoError>
    where
        M: FnOnce(Rc<ReactorPools<B>>) -> F + Send + 'static,
        F: Future<Output = Result<(), IoError>> + 'static,
    {
        let make = move |home: Rc<ReactorPools<B>>| async move {
            let work = make(home.clone());
            home.guarded(place.pool, async { Ok(work.await) }).await
        };
        let done = if place.home == self.inner.home.index() {
            make(self.inner.home.clone()).await
        } else {
            self.inner.dispatcher.call(place.home, make).await.map_err(|_| Cause::NotReady)?
        };
        // Its pool is not there any more, or has just been stopped.
        done.unwrap_or_else(|error| Err(IoError::new(Cause::NotReady, error)))
    }
}

impl<B: DriveProvider, C: Dispatcher<B>> Door for NodeDoor<B, C> {
    type Volume = NodeVolume<B, C>;

    fn subsystem(&self) -> SubsystemInfo {
        self.inner.home.table().subsystem().clone()
    }

    fn generation(&self) -> u64 {
        self.inner.home.table().generation()
    }

    async fn changed(&self, seen: u64) {
        self.inner.home.table().changed(seen).await;
    }

    fn namespaces(&self, host: &HostNqn) -> Vec<NamespaceInfo> {
        let view = self.view();
        view.namespaces.values().for_each(Namespace::refresh);
        let infos = view.namespaces.values().map(|namespace| namespace.info.borrow());
        infos.filter(|info| info.access.allows(host)).map(|info| info.clone()).collect()
    }

    fn with_namespace<T>(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        with: impl FnOnce(&NamespaceInfo, &NodeVolume<B, C>) -> T,
    ) -> Option<T> {
        let view = self.view();
        let namespace = view.namespaces.get(&nsid)?;
        namespace.refresh();
        let info = namespace.info.borrow();
        info.access.allows(host).then(|| with(&info, &namespace.volume))
    }

    fn health(&self, host: &HostNqn) -> HealthFigures {
        self.inner.home.table().health(host)
    }

    async fn latency(&self, host: &HostNqn, nsid: Option<Nsid>, kind: OpKind) -> Histogram {
        let took = latency_of(&self.inner.dispatcher, self.visible(host, nsid), kind).await;
        took.unwrap_or_default()
    }

    async fn format(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        request: FormatRequest,
    ) -> Result<(), IoError> {
        let volume = self.visible(host, Some(nsid));
        let (place, host) = (self.place(host, nsid)?, host.clone());
        self.at_home(place, move |home| home.format_volume(place, host, request)).await?;
        if request.is_erase {
            reset(&self.inner.dispatcher, volume).await;
        }
        Ok(())
    }

    async fn sanitize(&self, host: &HostNqn, mut progress: impl FnMut(u16)) -> Result<(), IoError> {
        let (volumes, places) = (self.visible(host, None), self.places(host));
        self.begin_sanitize(host, &places).await?;
        progress(0);
        let all = places.len();
        let mut failed = None;
        for (place, done) in places.iter().copied().zip(1..) {
            let host = host.clone();
            let erased = self.at_home(place, move |home| home.run_sanitize(place, host)).await;
            failed = failed.or(erased.err());
            progress((u64::from(SANITIZE_WHOLE) * done / all as u64) as u16);
        }
        // One that has failed is not there any more, and stays refused.
        for place in places {
            let host = host.clone();
            let ended = self.at_home(place, move |home| home.end_sanitize(place, host)).await;
            failed = failed.or(ended.err());
        }
        reset(&self.inner.dispatcher, volumes).await;
        failed.map_or(Ok(()), Err)
    }

    async fn exit_sanitize_failure(&self, host: &HostNqn) -> Result<(), IoError> {
        let of_failed = self.namespaces(host).into_iter();
        let failed = of_failed.filter(|info| info.sanitize == SanitizeState::Failed);
        for nsid in failed.map(|info| info.nsid) {
            let (place, host) = (self.place(host, nsid)?, host.clone());
            self.at_home(place, move |home| home.forgo_sanitize(place, host)).await?;
        }
        Ok(())
    }

    async fn set_write_protected(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        protected: bool,
    ) -> Result<(), IoError> {
        let (place, host) = (self.place(host, nsid)?, host.clone());
        self.at_home(place, move |home| home.set_write_protected(place, host, protected)).await
    }
}
