use axum::http::Request;
use futures_util::FutureExt;

use super::*;

fn consent_of(uri: &str) -> Result<Consent, ApiError> {
    let (mut parts, ()) = Request::builder().uri(uri).body(()).expect("a request").into_parts();
    Consent::from_request_parts(&mut parts, &()).now_or_never().expect("it waits for nothing")
}

#[test]
fn consent_is_given_by_one_word_and_by_nothing_else() {
    assert_eq!(consent_of("/pools/tank?confirm=true"), Ok(Consent::Given));
    for missing in ["/pools/tank", "/pools/tank?", "/pools/tank?confirm=false"] {
        assert_eq!(consent_of(missing), Ok(Consent::Missing), "{missing}");
    }
    for wrong in ["confirm", "confirm=1", "confirm=true&confirm=false"] {
        let refused =
            consent_of(&format!("/pools/tank?{wrong}")).expect_err("it is not understood");
        assert_eq!(refused.code, ErrorCode::InvalidQuery, "{wrong}");
        assert!(refused.detail.contains(wrong), "{refused}");
    }
}

#[test]
fn a_refusal_says_what_it_costs_and_how_to_go_on() {
    assert_eq!(Consent::Given.check(|| unreachable!("nobody asks")), Ok(()));
    let refused =
        Consent::Missing.check(|| "all is lost".to_owned()).expect_err("nobody has consented");
    assert_eq!((refused.code, &*refused.detail), (ErrorCode::ConfirmationNeeded, "all is lost"));
    let hint = refused.hint.expect("a way out");
    assert!(hint.contains("--yes") && hint.contains(CONFIRM), "{hint}");
}

#[test]
fn who_may_lose_no_data_consents_to_all_else() {
    let costs = || "all is lost".to_owned();
    let consent = Consent::Given.to_keep();
    assert_eq!(consent.check(costs), Ok(()));
    assert_eq!(consent.check_loss(costs).expect_err("it may not").code, ErrorCode::Forbidden);
    assert_eq!(Consent::Given.check_loss(costs), Ok(()));
    let missing = Consent::Missing.to_keep().check_loss(costs).expect_err("nobody has consented");
    assert_eq!(missing.code, ErrorCode::ConfirmationNeeded);
}
