use super::*;

fn told(before: &Seen, now: &mut Seen) -> Vec<String> {
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
    let both = told(&seen(&["nqn.a"]), &mut seen(&["nqn.a", "nqn.b"]));
    assert_eq!(both.len(), 1);
    for part in
        ["host_nqn_shared: ", "nqn.b", "10.0.0.1:4420", "id-1", "10.0.0.2:4420", "id-2", "hostnqn"]
    {
        assert!(both[0].contains(part), "{both:?}");
    }
    assert!(told(&seen(&["nqn.a"]), &mut seen(&["nqn.a"])).is_empty());
    assert!(told(&seen(&["nqn.a"]), &mut seen(&[])).is_empty());
    assert_eq!(told(&seen(&[]), &mut seen(&["nqn.a"])).len(), 1, "again, after it was over");
}

#[test]
fn of_more_shared_names_than_one_look_tells_the_next_ones_tell_the_rest() {
    let shared = |at: usize| {
        let host = |number: usize| (format!("id-{number}"), format!("10.0.0.{number}:4420"));
        SharedHostNqn { nqn: format!("nqn.{at}"), hosts: [host(1), host(2)] }
    };
    let seen = || Seen { shared_nqns: (0..40).map(shared).collect(), ..Seen::default() };
    let (mut before, mut counts) = (Seen::default(), Vec::new());
    for _ in 0..4 {
        let mut now = seen();
        counts.push(told(&before, &mut now).len());
        before = now;
    }
    assert_eq!(counts, [16, 16, 8, 0]);
}
