use super::*;

#[test]
fn who_is_refused_for_now_is_told_when_to_come_again() {
    let after = |code| {
        let response = ApiError::new(code, "not now").into_response();
        response.headers().get(RETRY_AFTER).map(|it| it.to_str().unwrap().to_owned())
    };
    assert_eq!(after(ErrorCode::TooManyAttempts).as_deref(), Some("60"));
    assert_eq!(after(ErrorCode::LogUnreadable).as_deref(), Some("5"));
    assert_eq!(after(ErrorCode::NoSuchPool), None);
}

/// What the store refuses knows no name of the pool: `ashlar pool rebuild POOL --wait` was printed.
#[test]
fn a_refusal_names_the_pool_that_was_asked_about_in_its_commands() {
    let refusal = ApiError::new(ErrorCode::CannotRemove, "first `ashlar pool rebuild POOL --wait`")
        .with_hint("or `ashlar drive return POOL/DRIVE`");
    let response = settled(refusal.clone().into_response(), Some("tank"), Some("drive-1"));
    assert_eq!(response.status(), ErrorCode::CannotRemove.status());
    let problem: &Problem = response.extensions().get().expect("it is refused");
    assert_eq!(problem.detail, "first `ashlar pool rebuild tank --wait`");
    assert_eq!(problem.hint.as_deref(), Some("or `ashlar drive return tank/drive-1`"));
    let same = settled(refusal.clone().into_response(), None, None);
    assert_eq!(same.extensions().get(), Some(&Problem::from(refusal)));
}
