use super::*;

fn nqn(name: &str) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).expect("a name")
}

fn users(names: &[&str], are_busy: bool) -> Users {
    Users { hosts: names.iter().map(|name| nqn(name)).collect(), are_busy }
}

#[test]
fn hosts_are_named_with_whether_io_runs() {
    assert_eq!(
        users(&["a", "b"], true).to_string(),
        "Connected, and I/O is running: nqn.2014-08.org.example:a, nqn.2014-08.org.example:b"
    );
    assert!(users(&["a"], false).to_string().contains("no I/O is running"));
    assert_eq!(users(&[], true).to_string(), "No host that may see it is connected");
}

#[test]
fn a_message_about_many_hosts_stays_short() {
    let names: Vec<String> = (0..500).map(|nth| nth.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let said = users(&names, true).to_string();
    assert!(said.ends_with("and 492 more") && said.len() < 400, "{said}");
    assert_eq!(named(vec!["v0".to_owned()]), "v0");
}

#[test]
fn who_keeps_a_volume_is_no_loser() {
    let list = AccessList::Allow([nqn("a")].into());
    assert_eq!(users(&["a", "b"], true).without(&list), users(&["b"], true));
    assert!(users(&["a", "b"], true).without(&AccessList::AllowAny).is_empty());
}
