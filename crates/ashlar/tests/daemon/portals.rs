//! Where the daemon listens: both families on one port, and ports that are in use.

use std::net::{IpAddr, SocketAddr, TcpListener};

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity, discover};

use crate::support::{Daemon, Place, refused, skip};

/// Loopback addresses, by family.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "::1"];

/// A port that nobody has, by neither family; nothing where the machine has no IPv6.
fn free_port() -> Option<u16> {
    let listener = TcpListener::bind("[::]:0").ok()?;
    Some(listener.local_addr().expect("it listens").port())
}

/// A daemon that listens by both families on one port, for volumes and for discovery, and the
/// ports. Somebody else may take a port before the daemon does: then others are tried.
fn start_on_both(place: &Place, reactors: &str) -> Option<(Daemon, u16, u16)> {
    for _ in 0..20 {
        let (io, discovery) = (free_port()?, free_port()?);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ashlar"));
        command.arg("serve").arg("--state").arg(place.path("")).args(["--reactors", reactors]);
        for (option, port) in [("--listen", io), ("--discovery", discovery)] {
            command.args([option, &format!("0.0.0.0:{port}"), option, &format!("[::]:{port}")]);
        }
        let mut daemon = place.spawn(command);
        if daemon.is_ready() {
            return Some((daemon, io, discovery));
        }
    }
    panic!("no port stays free");
}

fn host() -> HostIdentity {
    HostIdentity { nqn: "nqn.2014-08.org.example:host".to_owned(), id: [7; 16] }
}

fn connect(address: SocketAddr, subsystem: &str) {
    let options =
        ConnectOptions { io_queues: 1, ..ConnectOptions::new(address, subsystem, host()) };
    let connect = async move {
        Controller::connect(options).await.expect("the daemon serves").disconnect().await;
    };
    ashlar_reactor::run(ashlar_reactor::Config::default(), connect).expect("a reactor starts");
}

/// Where the discovery service at `address` says that something is.
fn discovered(address: SocketAddr) -> Vec<SocketAddr> {
    let ask = async move { discover(address, host()).await.expect("the daemon serves") };
    let found =
        ashlar_reactor::run(ashlar_reactor::Config::default(), ask).expect("a reactor starts");
    found.into_iter().map(|found| found.address).collect()
}

#[test]
fn both_families_are_served_on_one_port() {
    for reactors in ["1", "2"] {
        let place = Place::new();
        let Some((daemon, io, discovery)) = start_on_both(&place, reactors) else {
            return skip("this machine has no IPv6");
        };
        let status = place.json(&["status"]);
        let subsystem = status["subsystem_nqn"].as_str().expect("a name");
        for ip in LOOPBACK {
            let ip: IpAddr = ip.parse().expect("an address");
            connect(SocketAddr::new(ip, io), subsystem);
            // By its own family alone: of the other no address is known that leads here.
            let expected = [io, discovery].map(|port| SocketAddr::new(ip, port));
            assert_eq!(discovered(SocketAddr::new(ip, discovery)), expected);
        }
        daemon.terminate();
    }
}

#[test]
fn a_port_that_is_in_use_is_refused_with_the_program_that_has_it() {
    let place = Place::new();
    let mut taken = vec![TcpListener::bind("127.0.0.1:0").expect("a port")];
    taken.extend(TcpListener::bind("[::1]:0").ok());
    for listener in &taken {
        let address = listener.local_addr().expect("it listens");
        for (option, reactors) in [("--listen", "1"), ("--discovery", "1"), ("--listen", "2")] {
            let mut command = place.serve();
            command.args([option, &address.to_string(), "--reactors", reactors]);
            if option == "--discovery" {
                command = serve_with_discovery(&place, address);
            }
            let said = refused(command);
            let (port, pid) = (address.port(), std::process::id());
            let expected = format!(
                "cannot listen on {address}: port {port} is in use there by process {pid} ("
            );
            assert!(said.contains(&expected), "{said}");
        }
    }
}

/// The same as [`Place::serve`], with a discovery service of its own.
fn serve_with_discovery(place: &Place, address: SocketAddr) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ashlar"));
    command.arg("serve").arg("--state").arg(place.path("")).args(["--listen", "127.0.0.1:0"]);
    command.args(["--discovery", &address.to_string()]);
    command
}

#[test]
fn two_daemons_with_several_reactors_cannot_share_a_port() {
    let (place, other) = (Place::new(), Place::new());
    let daemon = place.start_with(&["--reactors", "2"]);
    let port = place.json(&["status"])["portals"][0]["port"].to_string();
    let mut command = other.serve();
    command.args(["--reactors", "2", "--listen", &format!("127.0.0.1:{port}")]);
    let said = refused(command);
    assert!(said.contains(&format!("in use there by process {} (ashlar)", daemon.pid())), "{said}");
    daemon.terminate();
}

#[test]
fn an_address_that_the_daemon_would_listen_on_twice_is_no_other_programs() {
    let place = Place::new();
    for second in ["127.0.0.1:4420", "0.0.0.0:4420", "[::ffff:127.0.0.1]:4420"] {
        let mut command = place.serve();
        command.args(["--listen", "127.0.0.1:4420", "--listen", second]);
        let said = refused(command);
        assert!(said.contains("leave it out") && !said.contains("in use"), "{said}");
    }
}
