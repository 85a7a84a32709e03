use super::*;

#[test]
fn root_and_the_daemons_own_user_may_do_everything_and_the_group_what_it_may() {
    let role = |uid| match Entrance::of_socket(uid, None, 990, Role::Operator) {
        Entrance::Socket { role, .. } => role,
        Entrance::Network(_) => unreachable!("it came by the socket"),
    };
    assert_eq!((role(0), role(990), role(1000)), (Role::Admin, Role::Admin, Role::Operator));
}

#[test]
fn whoever_may_not_do_something_is_told_who_may() {
    let operations = crate::operations();
    let destroy = operations.iter().find(|operation| operation.id == "destroy_pool").expect("one");
    let list = operations.iter().find(|operation| operation.id == "list_pools").expect("one");
    let caller = Caller { uid: Some(1000), role: Role::Operator, ..Caller::default() };
    assert_eq!(caller.check(list), Ok(()));
    let refused = caller.check(destroy).expect_err("it needs more");
    assert_eq!(refused.code, ErrorCode::Forbidden);
    assert!(refused.detail.contains("user 1000") && refused.detail.contains("admin"), "{refused}");
    assert_eq!(Caller { role: Role::Admin, ..caller }.check(destroy), Ok(()));
}

#[test]
fn a_caller_is_named_by_the_user_or_by_what_they_have_shown_and_from_where() {
    let user = Caller { uid: Some(1000), pid: Some(7), ..Caller::default() };
    assert_eq!(user.to_string(), "user 1000, process 7");
    let address = Some("192.0.2.1:4711".parse().expect("an address"));
    let token = Caller { account: Some("token ci".to_owned()), address, ..Caller::default() };
    assert_eq!(token.to_string(), "token ci at 192.0.2.1:4711");
}
