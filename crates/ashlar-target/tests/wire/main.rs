//! The target on real sockets, as hosts find it: one program, because linking takes long.

mod admin;
mod atomic;
mod blktests;
mod budget;
mod connecting;
mod cve;
mod endurance;
mod events;
mod fabrics;
mod features;
mod forgotten_events;
mod freeze;
mod handshake;
mod hostile;
mod io;
mod limited;
mod linux;
mod not_ready;
mod reactors;
mod reset;
mod sanitize;
#[path = "../support/mod.rs"]
mod support;
mod teardown;
mod torn;
mod vendor;
