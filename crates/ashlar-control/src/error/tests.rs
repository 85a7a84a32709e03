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
