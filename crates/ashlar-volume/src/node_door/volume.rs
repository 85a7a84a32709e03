//! A volume as one reactor reaches it: called directly where its pool lives here, and by message
//! where not.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ashlar_block::latency::{Meter, OpKind};
use ashlar_block::{AlignedBuf, Cause, IoError, Nanos, World};
use bytes::Bytes;

use crate::dispatcher::Dispatcher;
use crate::door::VolumeIo;
use crate::drive_provider::DriveProvider;
use crate::fuse::PoolWorld;
use crate::qos::fair::Turn;
use crate::qos::gate::Gate;
use crate::reactor_pools::{PoolVolume, ReactorPools, TurnKey, TurnKeys};
use crate::store_volume::{StoreVolume, WeakVolume};
use crate::table::{Place, ReactorIndex, Row};

/// Commands of up to so many bytes take their turn where the store has them: what they write has
/// come with them, and a message more would cost as much as they do.
const TURN_WITHIN_BYTES_MAX: u64 = 16 << 10;

/// A volume of a node: here, or behind a message.
pub struct NodeVolume<B: DriveProvider, C: Dispatcher<B>> {
    reach: Reach<B, C>,
    /// What there is of it at this reactor.
    local: Rc<Local<B::World>>,
    /// The turn that the next command has had. Clones have none.
    turn: Cell<Option<CommandTurn<B, C>>>,
}

/// Who counts what hosts do with a volume by connections of a reactor, and who waits there.
struct Local<W> {
    meter: Rc<Meter>,
    gate: Rc<Gate<W>>,
    /// Commands of its pool wait for their turn.
    is_shared: Arc<AtomicBool>,
}

enum Reach<B: DriveProvider, C: Dispatcher<B>> {
    Here(WeakVolume<PoolWorld<B::World>>),
    /// With the names that this reactor gives to turns it asks for there.
    There(C, Place, Rc<TurnKeys>),
    /// Its pool is being opened anew, or it is about to leave the table.
    Nowhere,
}

/// The turn of a command, here or where its volume lives.
enum CommandTurn<B: DriveProvider, C: Dispatcher<B>> {
    Here(Turn<PoolWorld<B::World>>),
    There(AskedTurn<B, C>),
}

/// A turn that another reactor was asked for. It is given back when dropped, unless it is used.
struct AskedTurn<B: DriveProvider, C: Dispatcher<B>> {
    dispatcher: C,
    home: ReactorIndex,
    key: Option<TurnKey>,
    _pools: PhantomData<fn(B)>,
}

impl<B: DriveProvider, C: Dispatcher<B>> AskedTurn<B, C> {
    /// Its command is sent after it.
    fn used(mut self) -> Option<TurnKey> {
        self.key.take()
    }
}

impl<B: DriveProvider, C: Dispatcher<B>> Drop for AskedTurn<B, C> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let give_back =
            move |home: Rc<ReactorPools<B>>| async move { drop(home.turns().take(key)) };
        // It is sent by the call, and nobody waits for an answer.
        drop(self.dispatcher.call(self.home, give_back));
    }
}

impl<B: DriveProvider, C: Dispatcher<B>> Clone for NodeVolume<B, C> {
    fn clone(&self) -> Self {
        let reach = match &self.reach {
            Reach::Here(volume) => Reach::Here(volume.clone()),
            Reach::There(dispatcher, place, keys) => {
                Reach::There(dispatcher.clone(), *place, keys.clone())
            }
            Reach::Nowhere => Reach::Nowhere,
        };
        NodeVolume { reach, local: self.local.clone(), turn: Cell::default() }
    }
}

impl<B: DriveProvider, C: Dispatcher<B>> NodeVolume<B, C> {
    /// The volume of `row`, for commands that come to `home`'s reactor.
    pub(super) fn new(home: &Rc<ReactorPools<B>>, dispatcher: &C, row: &Row) -> Self {
        let reach = if row.place.home == home.index() {
            home.volume(row.place).map_or(Reach::Nowhere, |volume| Reach::Here(volume.downgrade()))
        } else {
            Reach::There(dispatcher.clone(), row.place, home.turn_keys().clone())
        };
        let (meter, gate) = (home.meter(row.info.uuid), home.gate(row.info.uuid, &row.throttle));
        let local = Rc::new(Local { meter, gate, is_shared: row.is_shared.clone() });
        NodeVolume { reach, local, turn: Cell::default() }
    }

    /// Has `work` done on the volume where it lives. One that is in the table and not there is not
    /// ready: its pool is being opened anew, or the table is about to say that it is gone.
    async fn on<M, F, T>(&self, work: M) -> Result<T, IoError>
    where
        M: FnOnce(PoolVolume<B>) -> F + Send + 'static,
        F: Future<Output = Result<T, IoError>> + 'static,
        T: Send + 'static,
    {
        let turn = self.turn.take();
        let (dispatcher, place) = match &self.reach {
            Reach::Here(volume) => {
                let volume = volume.upgrade().ok_or(Cause::NotReady)?;
                let turn = turn.and_then(|turn| match turn {
                    CommandTurn::Here(turn) => Some(turn),
                    CommandTurn::There(_) => None,
                });
                return done_on(volume.in_turn(turn), work).await;
            }
            Reach::There(dispatcher, place, _) => (dispatcher, *place),
            Reach::Nowhere => return Err(Cause::NotReady.into()),
        };
        let turn = turn.and_then(|turn| match turn {
            CommandTurn::There(asked) if asked.home == place.home => asked.used(),
            _ => None,
        });
        let make = move |home: Rc<ReactorPools<B>>| async move {
            let turn = turn.and_then(|key| home.turns().take(key));
            match home.volume(place) {
                Some(volume) => done_on(volume.in_turn(turn), work).await,
                None => Err(Cause::NotReady.into()),
            }
        };
        dispatcher.call(place.home, make).await.map_err(|_| Cause::NotReady)?
    }

    /// Waits at the volume's reactor. Nothing comes of it where there is no pool any more, which
    /// the command is told then.
    async fn turn_there(&self, dispatcher: &C, place: Place, key: TurnKey, command: (OpKind, u64)) {
        let asked = AskedTurn {
            dispatcher: dispatcher.clone(),
            home: place.home,
            key: Some(key),
            _pools: PhantomData,
        };
        let (kind, bytes) = command;
        let ask = move |home: Rc<ReactorPools<B>>| async move {
            let turn = home.volume(place).map(|volume| turn_of(&volume, kind, bytes));
            let turn = async { turn?.await };
            home.turns().keep(key, turn).await;
        };
        if dispatcher.call(place.home, ask).await.is_ok() {
            self.turn.set(Some(CommandTurn::There(asked)));
        }
    }
}

/// Waits for the turn of a command on a volume that lives here, under its pool's fuse. Who waits
/// keeps neither the volume nor its pool's drives.
fn turn_of<W: World>(
    volume: &StoreVolume<PoolWorld<W>>,
    kind: OpKind,
    bytes: u64,
) -> impl Future<Output = Option<Turn<PoolWorld<W>>>> + use<W> {
    let turn = volume.store().world().fuse().guard(volume.next_turn(kind, bytes));
    async move { turn.await.ok() }
}

/// Has `work` done on a volume that lives here, under its pool's fuse.
async fn done_on<W, M, F, T>(volume: StoreVolume<PoolWorld<W>>, work: M) -> Result<T, IoError>
where
    W: World,
    M: FnOnce(StoreVolume<PoolWorld<W>>) -> F,
    F: Future<Output = Result<T, IoError>>,
{
    let fuse = volume.store().world().fuse().clone();
    fuse.guard(work(volume)).await?
}

impl<B: DriveProvider, C: Dispatcher<B>> VolumeIo for NodeVolume<B, C> {
    fn meter(&self) -> Option<&Rc<Meter>> {
        Some(&self.local.meter)
    }

    fn try_admit(&self, kind: OpKind, bytes: u64) -> bool {
        self.local.gate.try_pass(kind, bytes)
    }

    async fn admit(&self, kind: OpKind, bytes: u64, since: Nanos) {
        self.local.gate.pass(kind, bytes, since).await;
    }

    fn needs_turn(&self, kind: OpKind, bytes: u64) -> bool {
        kind != OpKind::Trim
            && bytes > TURN_WITHIN_BYTES_MAX
            && self.local.is_shared.load(Ordering::Relaxed)
    }

    async fn take_turn(&self, kind: OpKind, bytes: u64) {
        match &self.reach {
            Reach::Here(volume) => {
                let turn = volume.upgrade().map(|volume| turn_of(&volume, kind, bytes));
                let Some(turn) = turn else { return };
                self.turn.set(turn.await.map(CommandTurn::Here));
            }
            Reach::There(dispatcher, place, keys) => {
                self.turn_there(dispatcher, *place, keys.next(), (kind, bytes)).await;
            }
            Reach::Nowhere => {}
        }
    }

    fn hand_turn_to(&self, now: &Self) {
        now.turn.set(self.turn.take());
    }

    async fn read(&self, offset: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        self.on(move |volume| async move { volume.read(offset, bytes).await }).await
    }

    async fn write(&self, offset: u64, data: Bytes) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.write(offset, data).await }).await
    }

    async fn write_zeroes(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.write_zeroes(offset, bytes).await }).await
    }

    async fn deallocate(&self, range: Range<u64>) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.deallocate(range).await }).await
    }

    async fn compare(&self, offset: u64, expected: Bytes) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.compare(offset, expected).await }).await
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.compare_and_write(offset, expected, data).await })
            .await
    }

    async fn verify(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.verify(offset, bytes).await }).await
    }

    async fn flush(&self) -> Result<(), IoError> {
        self.on(move |volume| async move { volume.flush().await }).await
    }
}
