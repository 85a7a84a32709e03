//! Those who are told of events: a server of HTTP and one of mail, on threads of their own.

pub mod http;
pub mod mail;
mod tls;
