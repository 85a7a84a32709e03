use super::*;

#[test]
fn a_group_has_a_number_and_a_role() {
    let root = SocketGroup { gid: 0, role: Role::Operator };
    assert_eq!(resolve(Some("root"), None).expect("there is one"), Some(root));
    let viewer = resolve(Some("root"), Some(Role::Viewer)).expect("there is one");
    assert_eq!(viewer, Some(SocketGroup { role: Role::Viewer, ..root }));
    assert_eq!(resolve(None, None).expect("none is well"), None);
}

#[test]
fn a_group_that_is_not_there_and_a_role_of_none_are_refused() {
    let refused = |name, role| resolve(name, role).expect_err("it is refused").to_string();
    assert!(refused(Some("no-such-group"), None).contains("groupadd --system no-such-group"));
    assert!(refused(None, Some(Role::Admin)).contains("socket_group_role"));
}
