use std::time::Duration;

use super::*;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

#[test]
fn a_token_is_known_by_what_its_owner_shows_and_by_nothing_else() {
    let (token, secret) = KeptToken::new("ci", Role::Operator, NOW, None);
    assert!(secret.starts_with("ashlar_") && token.is(&secret), "{secret}");
    assert_eq!(KeptToken::id_of(&secret), Some(&*token.id));
    let (other, of_other) = KeptToken::new("ci", Role::Operator, NOW, None);
    assert!(!token.is(&of_other) && !other.is(&secret) && token.id != other.id);
    for wrong in ["", "ashlar_", &secret[1..], &secret[..secret.len() - 1], &format!("{secret}0")] {
        assert!(KeptToken::id_of(wrong).is_none_or(|id| id != token.id), "{wrong}");
        assert!(!token.is(wrong), "{wrong}");
    }
}

#[test]
fn what_is_kept_of_a_token_does_not_say_it() {
    let (token, secret) = KeptToken::new("ci", Role::Viewer, NOW, None);
    let kept = serde_json::to_string(&token).expect("JSON");
    assert!(!kept.contains(&secret[7 + ID_CHARS..]), "{kept}");
}

#[test]
fn a_token_expires_when_it_was_said_to() {
    let ends = NOW + Duration::from_secs(60);
    let (token, _) = KeptToken::new("ci", Role::Viewer, NOW, Some(ends));
    assert!(!token.has_expired(ends - Duration::from_secs(1)) && token.has_expired(ends));
    assert_eq!(token.shown(ends).states, ["expired"]);
    let forever = KeptToken::new("ci", Role::Viewer, NOW, None).0;
    assert!(!forever.has_expired(ends) && forever.shown(ends).states == ["valid"]);
    let damaged = KeptToken { expires_at: Some("soon".to_owned()), ..forever };
    assert!(damaged.has_expired(NOW), "what cannot be read is not believed");
}
