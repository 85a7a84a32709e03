//! The node's reactors: a thread each, reached by messages.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use ashlar_reactor::mailbox::{self, Sender};
use ashlar_reactor::{Config, Handle, STACK_BYTES, Stats, stats};
use ashlar_target::nvme_tcp::{BindError, Service, Target};
use ashlar_volume::{Dispatcher, Gone, NodeDoor, ReactorIndex, ReactorPools, StoppedPool, Table};
use futures_util::future::{BoxFuture, join_all};

use crate::drives::MachineDrives;

/// The pools of one reactor.
type MachineHome = ReactorPools<MachineDrives>;
/// The door of one reactor.
type MachineDoor = NodeDoor<MachineDrives, Reactors>;
/// Hears of pools that faults in Ashlar itself stop.
pub type StopListener = Arc<dyn Fn(StoppedPool) + Send + Sync>;

/// Why no reactors could be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The operating system has no thread to give.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// A reactor cannot run on this machine.
    #[error("cannot start a reactor")]
    Reactor(#[source] ashlar_reactor::StartError),
    /// One ended before it ran.
    #[error("a reactor ended while it started")]
    Ended,
}

/// Why hosts cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A portal cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A reactor has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// What lives on a reactor for as long as it runs.
struct Local {
    home: Rc<MachineHome>,
    service: RefCell<Option<Service<MachineDoor>>>,
}

thread_local! {
    static LOCAL: RefCell<Option<Rc<Local>>> = const { RefCell::new(None) };
}

fn local() -> Rc<Local> {
    LOCAL.with_borrow(Clone::clone).expect("work comes to a reactor only after its start")
}

/// The way to the node's reactors. Clones lead to the same ones.
#[derive(Clone)]
pub struct Reactors {
    handles: Arc<[Handle]>,
}

impl Dispatcher<MachineDrives> for Reactors {
    fn reactors(&self) -> usize {
        self.handles.len()
    }

    fn call<M, F>(
        &self,
        to: ReactorIndex,
        make: M,
    ) -> impl Future<Output = Result<F::Output, Gone>> + Send + use<M, F>
    where
        M: FnOnce(Rc<MachineHome>) -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let reply = self.handles[to.0].call(move || make(local().home.clone()));
        async move { reply.await.map_err(|_| Gone) }
    }
}

impl Reactors {
    /// Begins serving on every reactor, one after the other.
    ///
    /// # Errors
    /// The portal that cannot be listened on. What has begun by then is to be ended by
    /// [`Self::stop_serving`].
    pub fn serve<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<(), ServeError>> {
        Box::pin(async move {
            for handle in self.handles.iter() {
                let (target, dispatcher) = (target.clone(), self.clone());
                let serve = move || async move {
                    let local = local();
                    let service = target.serve(NodeDoor::new(local.home.clone(), dispatcher));
                    service.map(|service| drop(local.service.replace(Some(service))))
                };
                handle.call(serve).await.map_err(|_| Gone)??;
            }
            Ok(())
        })
    }

    /// What each reactor has done, and what it holds now.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn stats(&self) -> BoxFuture<'_, Result<Vec<Stats>, Gone>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(self.handles.len());
            for handle in self.handles.iter() {
                all.push(handle.call(|| async { stats() }).await.map_err(|_| Gone)?);
            }
            Ok(all)
        })
    }

    /// Answers what hosts have sent and closes their connections, on all reactors.
    pub fn stop_serving(&self) -> BoxFuture<'_, ()> {
        let stop = |handle: &Handle| {
            handle.call(|| async {
                let service = local().service.take();
                if let Some(service) = service {
                    service.shutdown().await;
                }
            })
        };
        let all = join_all(self.handles.iter().map(stop));
        Box::pin(async move { drop(all.await) })
    }
}

/// The reactors' threads. Ended by [`Threads::end`].
pub struct Threads {
    running: Vec<Running>,
}

struct Running {
    thread: JoinHandle<()>,
    /// Dropping it ends the reactor.
    _until: Sender<()>,
}

impl Threads {
    /// Starts `count` reactors with the pools of `table` to come. `stopped` hears of those that a
    /// fault in Ashlar itself stops.
    ///
    /// # Errors
    /// Why the first one that failed could not be started.
    pub fn start(
        count: usize,
        config: &Config,
        table: &Arc<Table>,
        provider: &MachineDrives,
        stopped: &StopListener,
    ) -> Result<(Self, Reactors), StartError> {
        let mut threads = Threads { running: Vec::with_capacity(count) };
        let mut handles = Vec::with_capacity(count);
        for index in 0..count {
            let (running, handle) = start(
                ReactorIndex(index),
                config.clone(),
                table.clone(),
                provider.clone(),
                stopped.clone(),
            )?;
            threads.running.push(running);
            handles.push(handle);
        }
        Ok((threads, Reactors { handles: handles.into() }))
    }

    /// Ends the reactors and waits for their threads.
    pub fn end(self) {
        for Running { thread, _until } in self.running {
            drop(_until);
            if thread.join().is_err() {
                tracing::error!("a reactor ended with a panic");
            }
        }
    }
}

fn start(
    index: ReactorIndex,
    config: Config,
    table: Arc<Table>,
    provider: MachineDrives,
    stopped: StopListener,
) -> Result<(Running, Handle), StartError> {
    let (started, start) = mpsc::channel();
    let (until, mut ended) = mailbox::channel::<()>(1);
    let serve = move || {
        let report = started.clone();
        let main = async move {
            let home = ReactorPools::new(index, provider, table, move |pool| stopped(pool));
            LOCAL.set(Some(Rc::new(Local { home, service: RefCell::new(None) })));
            let _ = report.send(Ok(ashlar_reactor::handle()));
            while ended.recv().await.is_some() {}
            LOCAL.set(None);
        };
        if let Err(error) = ashlar_reactor::run(config, main) {
            let _ = started.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new()
        .name(format!("reactor-{}", index.0))
        .stack_size(STACK_BYTES)
        .spawn(serve)
        .map_err(StartError::Thread)?;
    let handle = start.recv().map_err(|_| StartError::Ended)?;
    let handle = handle.map_err(StartError::Reactor)?;
    Ok((Running { thread, _until: until }, handle))
}
