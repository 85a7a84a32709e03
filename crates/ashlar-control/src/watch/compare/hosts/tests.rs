use super::*;

fn told(before: &Seen, now: &Seen) -> Vec<String> {
    let tell = |happening: Happening| format!("{}: {}", happening.kind, happening.message);
    happenings(before, now).into_iter().map(tell).collect()
}

#[test]
fn a_name_that_two_hosts_use_is_told_of_once_with_both() {
    let shared = |nqn: &str| {
        let host = |number| (format!("id-{number}"), format!("10.0.0.{number}:4420"));
        SharedHostNqn { nqn: nqn.to_owned(), hosts: [host(1), host(2)] }
    };
    let seen = |names: &[&str]| Seen {
        shared_nqns: names.iter().map(|nqn| shared(nqn)).collect(),
        ..Seen::default()
    };
    let both = told(&seen(&["nqn.a"]), &seen(&["nqn.a", "nqn.b"]));
    assert_eq!(both.len(), 1);
    for part in
        ["host_nqn_shared: ", "nqn.b", "10.0.0.1:4420", "id-1", "10.0.0.2:4420", "id-2", "hostnqn"]
    {
        assert!(both[0].contains(part), "{both:?}");
    }
    assert!(told(&seen(&["nqn.a"]), &seen(&["nqn.a"])).is_empty());
    assert!(told(&seen(&["nqn.a"]), &seen(&[])).is_empty());
    assert_eq!(told(&seen(&[]), &seen(&["nqn.a"])).len(), 1, "again, after it was over");
}
