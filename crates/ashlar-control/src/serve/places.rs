//! How many clients there may be at a time: in all, and of one kind or address, so that one who
//! takes all that there is leaves some for others.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::access::network_of;

/// Clients of the socket, and further ones that are root or the daemon's own user.
const SOCKET_MAX: usize = 448;
const SOCKET_OWNERS_MAX: usize = 64;
/// Clients by the network, and those of one address.
const NETWORK_MAX: usize = 512;
const OF_ADDRESS_MAX: usize = 64;

/// The places of the socket.
#[derive(Clone)]
pub struct SocketPlaces {
    all: Arc<Semaphore>,
    owners: Arc<Semaphore>,
}

impl SocketPlaces {
    pub fn new() -> Self {
        let places = |number| Arc::new(Semaphore::new(number));
        SocketPlaces { all: places(SOCKET_MAX), owners: places(SOCKET_OWNERS_MAX) }
    }

    /// One for a client who is root or the daemon's own user, or not; none, if there is none for
    /// such a one.
    pub fn take(&self, is_owner: bool) -> Option<OwnedSemaphorePermit> {
        let place = self.all.clone().try_acquire_owned().ok();
        let reserved = || self.owners.clone().try_acquire_owned().ok().filter(|_| is_owner);
        place.or_else(reserved)
    }

    /// Waits until there is one for somebody.
    pub async fn has_some(&self) {
        let reserved = self.owners.acquire();
        let all = self.all.acquire();
        futures_util::pin_mut!(reserved, all);
        drop(futures_util::future::select(reserved, all).await);
    }
}

/// The places of the network. Where they are full, the connection gives its place up that has been
/// there for longest without showing who it is: so nobody who is silent keeps out those who have a
/// token.
#[derive(Clone)]
pub struct NetworkPlaces {
    all: Arc<Semaphore>,
    guests: Arc<Mutex<Guests>>,
}

/// Who has a place, in the order in which they came.
#[derive(Default)]
struct Guests {
    here: BTreeMap<u64, (IpAddr, Guest)>,
    by_address: HashMap<IpAddr, usize>,
    came: u64,
}

/// A connection that has a place. Clones are the same.
#[derive(Clone, Default)]
pub struct Guest(Arc<GuestState>);

#[derive(Default)]
struct GuestState {
    is_known: AtomicBool,
    leave: Notify,
}

impl Guest {
    /// It has shown who it is, and keeps its place.
    pub fn is_known_now(&self) {
        self.0.is_known.store(true, Ordering::Relaxed);
    }

    fn is_known(&self) -> bool {
        self.0.is_known.load(Ordering::Relaxed)
    }

    /// Waits until its place is another's.
    pub async fn told_to_leave(&self) {
        self.0.leave.notified().await;
    }
}

impl Guests {
    /// Has the one leave that came first of those who have not shown who they are.
    fn make_room(&mut self, of: impl Fn(IpAddr) -> bool) -> bool {
        let mut silent = self.here.iter().filter(|(_, (at, it))| of(*at) && !it.is_known());
        let Some(number) = silent.next().map(|(number, _)| *number) else { return false };
        if let Some(guest) = self.remove(number) {
            guest.0.leave.notify_one();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Guest> {
        let (address, guest) = self.here.remove(&number)?;
        let of_address = self.by_address.get_mut(&address).expect("it was counted");
        *of_address -= 1;
        if *of_address == 0 {
            self.by_address.remove(&address);
        }
        Some(guest)
    }

    fn add(&mut self, address: IpAddr) -> (u64, Guest) {
        self.came += 1;
        let guest = Guest::default();
        self.here.insert(self.came, (address, guest.clone()));
        *self.by_address.entry(address).or_default() += 1;
        (self.came, guest)
    }
}

/// A place, and who has it.
pub struct NetworkPlace {
    _place: OwnedSemaphorePermit,
    /// Who has it.
    pub guest: Guest,
    number: u64,
    places: NetworkPlaces,
}

impl NetworkPlaces {
    pub fn new() -> Self {
        NetworkPlaces { all: Arc::new(Semaphore::new(NETWORK_MAX)), guests: Arc::default() }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a client from there, once the one has left who makes room. None: there is none,
    /// and all who have one have shown who they are, or all from there.
    pub async fn take(&self, address: IpAddr) -> Option<NetworkPlace> {
        let address = network_of(address);
        {
            let mut guests = self.guests();
            let taken = guests.by_address.get(&address).copied().unwrap_or(0);
            if taken >= OF_ADDRESS_MAX && !guests.make_room(|at| at == address) {
                return None;
            }
            if self.all.available_permits() == 0 && !guests.make_room(|_| true) {
                return None;
            }
        }
        let place = self.all.clone().acquire_owned().await.expect("nobody closes it");
        let (number, guest) = self.guests().add(address);
        Some(NetworkPlace { _place: place, guest, number, places: self.clone() })
    }
}

impl Drop for NetworkPlace {
    fn drop(&mut self) {
        self.places.guests().remove(self.number);
    }
}

#[cfg(test)]
mod tests;
