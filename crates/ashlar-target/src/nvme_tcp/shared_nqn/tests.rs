use super::*;

const SECOND: u64 = 1_000_000_000;

/// A controller of host `name` with identifier `id`, which has connected and was heard last after
/// so many seconds.
fn sign(name: &str, id: u8, address: &str, connected: u64, heard: u64) -> Sign {
    Sign {
        nqn: HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).unwrap(),
        id: HostId([id; 16]),
        address: address.parse().unwrap(),
        connected: Nanos(connected * SECOND),
        heard: Nanos(heard * SECOND),
    }
}

fn names(signs: Vec<Sign>) -> Vec<String> {
    shared(signs).iter().map(|shared| shared.nqn.to_string()).collect()
}

#[test]
fn two_hosts_that_are_alive_under_one_name_are_found_with_both_addresses() {
    let (first, second) = (sign("a", 1, "10.0.0.1:1", 10, 90), sign("a", 2, "10.0.0.2:1", 20, 91));
    let other = sign("b", 3, "10.0.0.3:1", 10, 90);
    let expected = SharedNqn {
        nqn: first.nqn.clone(),
        hosts: [(first.id, first.address), (second.id, second.address)],
    };
    assert_eq!(shared(vec![second.clone(), other, first.clone()]), [expected]);
}

#[test]
fn a_host_with_several_paths_is_one_host() {
    let paths = ["10.0.0.1:1", "10.0.1.1:1", "[fd00::1]:1", "10.0.0.1:2"];
    assert!(names(paths.iter().map(|path| sign("a", 1, path, 10, 90)).collect()).is_empty());
}

#[test]
fn a_host_that_was_started_anew_with_another_identifier_is_one_host() {
    // Its earlier controllers are there until their keep alive expires, and are silent.
    let dead = [sign("a", 1, "10.0.0.1:1", 10, 19), sign("a", 1, "10.0.1.1:1", 10, 18)];
    let anew = [sign("a", 2, "10.0.0.1:2", 20, 90), sign("a", 2, "10.0.1.1:2", 21, 90)];
    assert!(names([dead, anew].concat()).is_empty());
    // What it had sent before is read a moment after it has connected again, because the daemon
    // stood still.
    assert!(
        names(vec![sign("a", 1, "10.0.0.1:1", 10, 21), sign("a", 2, "10.0.0.1:2", 20, 90)])
            .is_empty()
    );
}

#[test]
fn a_clone_is_found_behind_the_dead_controllers_of_the_other() {
    let signs = vec![
        sign("a", 1, "10.0.0.1:1", 10, 12),
        sign("a", 1, "10.0.0.1:2", 15, 90),
        sign("a", 2, "10.0.0.2:1", 20, 90),
    ];
    assert_eq!(names(signs), ["nqn.2014-08.org.example:a"]);
}

#[test]
fn a_name_that_many_hosts_have_is_found_once() {
    let signs = (1..=100).map(|id| sign("a", id, "10.0.0.1:1", id.into(), 1000)).collect();
    assert_eq!(names(signs).len(), 1);
}

#[test]
fn one_identifier_under_two_names_is_no_shared_name() {
    let signs = vec![sign("a", 1, "10.0.0.1:1", 10, 90), sign("b", 1, "10.0.0.2:1", 20, 90)];
    assert!(names(signs).is_empty());
}
