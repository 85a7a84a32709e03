use super::*;

fn host(name: &str) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).expect("a name")
}

fn list(names: &[&str]) -> AccessList {
    AccessList::Allow(names.iter().map(|name| host(name)).collect())
}

fn refused(change: AccessChange, access: &AccessList) -> String {
    change.apply("tank/v0", access).expect_err("it does not fit").to_string()
}

#[test]
fn allow_never_takes_a_volume_from_a_host_and_only_does() {
    let (a, b) = (vec![host("a")], vec![host("b")]);
    for access in [list(&[]), list(&["a"]), list(&["a", "b"]), AccessList::AllowAny] {
        for change in
            [AccessChange::Allow(a.clone()), AccessChange::Allow(b.clone()), AccessChange::AllowAny]
        {
            let Ok(after) = change.apply("tank/v0", &access) else { continue };
            for host in [host("a"), host("b"), host("c")] {
                assert!(
                    after.allows(&host) || !access.allows(&host),
                    "{change:?} of {access:?}: {host}"
                );
            }
        }
    }
    for access in [list(&["a", "c"]), AccessList::AllowAny] {
        assert_eq!(
            AccessChange::AllowOnly(b.clone()).apply("tank/v0", &access).unwrap(),
            list(&["b"])
        );
    }
}

#[test]
fn a_change_that_does_not_fit_the_list_names_the_volume_and_the_way_out() {
    let said = refused(AccessChange::Allow(vec![host("a")]), &AccessList::AllowAny);
    assert!(said.contains("tank/v0") && said.contains("--only"), "{said}");
    let said = refused(AccessChange::Deny(vec![host("a")]), &AccessList::AllowAny);
    assert!(said.contains("tank/v0") && said.contains("exceptions"), "{said}");
    let said = refused(AccessChange::DenyAny, &list(&["a"]));
    assert!(said.contains("tank/v0") && said.contains("deny tank/v0 all"), "{said}");
    let said = refused(AccessChange::DenyAny, &list(&[]));
    assert!(said.contains("no host may see it"), "{said}");
}

#[test]
fn a_host_that_is_not_on_the_list_cannot_be_denied_and_nobody_is() {
    let said = refused(AccessChange::Deny(vec![host("a"), host("b")]), &list(&["a"]));
    assert!(said.contains(":b is not among the hosts") && said.contains("show tank/v0"), "{said}");
    assert_eq!(
        AccessChange::Deny(vec![host("a")]).apply("tank/v0", &list(&["a"])).unwrap(),
        list(&[])
    );
}

#[test]
fn any_is_taken_back_and_leaves_nobody() {
    assert_eq!(AccessChange::DenyAny.apply("tank/v0", &AccessList::AllowAny).unwrap(), list(&[]));
    assert_eq!(AccessChange::DenyAll.apply("tank/v0", &list(&["a"])).unwrap(), list(&[]));
}

#[test]
fn a_list_has_room_for_so_many_and_no_more() {
    let many: Vec<HostNqn> = (0..=HOSTS_MAX).map(|nth| host(&nth.to_string())).collect();
    for change in [AccessChange::Allow(many.clone()), AccessChange::AllowOnly(many)] {
        assert!(matches!(change.apply("tank/v0", &list(&[])), Err(NodeError::TooManyHosts)));
    }
}
