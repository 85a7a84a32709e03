//! Who may do what, as people see it.

use ashlar_control::types::{Key, Session, Token};

use super::grid::{Kind, sheet, table};
use super::printable;

/// All tokens.
pub fn tokens(tokens: &[Token]) -> String {
    if tokens.is_empty() {
        return "there is no token: `ashlar token create` makes one".to_owned();
    }
    let columns = [
        ("name", Kind::Name),
        ("role", Kind::Figure),
        ("state", Kind::Figure),
        ("expires", Kind::Figure),
        ("id", Kind::Figure),
    ];
    let row = |token: &Token| {
        vec![
            token.name.clone().into(),
            token.role.into(),
            token.states.join(" ").into(),
            token.expires_at.clone().unwrap_or_else(|| "never".to_owned()).into(),
            token.id.clone().into(),
        ]
    };
    table(&columns, tokens.iter().map(row).collect())
}

/// All keys.
pub fn keys(keys: &[Key]) -> String {
    if keys.is_empty() {
        return "there is no key: `ashlar key add` registers one".to_owned();
    }
    let columns = [
        ("name", Kind::Name),
        ("role at most", Kind::Figure),
        ("algorithm", Kind::Figure),
        ("since", Kind::Figure),
    ];
    let row = |key: &Key| {
        vec![
            key.name.clone().into(),
            key.role.into(),
            key.algorithm.clone().into(),
            key.created_at.clone().into(),
        ]
    };
    table(&columns, keys.iter().map(row).collect())
}

/// Who asks.
pub fn session(session: &Session) -> String {
    let served = match &session.addresses[..] {
        [] => "at its socket alone (api_listen names where else)".to_owned(),
        addresses => format!("at https://{}", addresses.join(", https://")),
    };
    let mut rows = vec![
        ("caller", printable(&session.caller)),
        ("role", session.role.to_string()),
        ("served", served),
    ];
    rows.extend(session.certificate_fingerprint.clone().map(|it| ("fingerprint", it)));
    sheet(rows)
}
