//! How many clients there may be at a time: in all, and of one kind or address, so that one who
//! takes all that there is leaves some for others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// The places of the network.
#[derive(Clone)]
pub struct NetworkPlaces {
    all: Arc<Semaphore>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place, and its part of those of its address.
pub struct NetworkPlace {
    _place: OwnedSemaphorePermit,
    address: IpAddr,
    places: NetworkPlaces,
}

impl NetworkPlaces {
    pub fn new() -> Self {
        NetworkPlaces { all: Arc::new(Semaphore::new(NETWORK_MAX)), by_address: Arc::default() }
    }

    fn by_address(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for one, whoever it is for.
    pub async fn next(&self) -> OwnedSemaphorePermit {
        self.all.clone().acquire_owned().await.expect("nobody closes it")
    }

    /// That place for a client from there; none if those have as many as they may.
    pub fn give(&self, place: OwnedSemaphorePermit, address: IpAddr) -> Option<NetworkPlace> {
        let address = network_of(address);
        let mut by_address = self.by_address();
        let taken = by_address.entry(address).or_default();
        if *taken >= OF_ADDRESS_MAX {
            return None;
        }
        *taken += 1;
        Some(NetworkPlace { _place: place, address, places: self.clone() })
    }
}

impl Drop for NetworkPlace {
    fn drop(&mut self) {
        let mut by_address = self.places.by_address();
        if let Some(taken) = by_address.get_mut(&self.address) {
            *taken -= 1;
            if *taken == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests;
