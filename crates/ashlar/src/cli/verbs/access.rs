//! Tokens, keys, and who I am.

use std::fs;

use anyhow::Context;
use ashlar_control::Role;
use ashlar_control::types::{AddKey, CreateToken, Key, NewToken, Session, Token};
use hyper::Method;

use super::{print, print_done, segment};
use crate::args::{KeyCommand, Output, RoleName, TokenCommand};
use crate::cli::client::Client;
use crate::cli::tables;
use crate::stdio::{note, print_line};

pub(super) async fn token(
    client: &Client,
    command: TokenCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        TokenCommand::Create { name, role, expires } => {
            let expires_seconds = expires.map(|expires| expires.as_secs());
            let request = CreateToken { name, role: role.into(), expires_seconds };
            let made: NewToken = client.send_body(Method::POST, "/tokens", &request).await?;
            print_token(&made, output)
        }
        TokenCommand::List => {
            let tokens: Vec<Token> = client.get("/tokens").await?;
            print(output, &tokens, |tokens| tables::tokens(tokens))
        }
        TokenCommand::Revoke { token } => {
            client.command(Method::DELETE, &format!("/tokens/{}", segment(&token)?)).await?;
            let said = format!("token '{token}' is revoked: nobody is let in by it any more");
            print_done(output, "token", &token, "revoked", &said)
        }
    }
}

/// The token alone goes to standard output, so that it can go to a file.
fn print_token(made: &NewToken, output: Output) -> anyhow::Result<()> {
    if output.is_for_programs() {
        return print(output, made, |_| String::new());
    }
    let NewToken { token, secret } = made;
    let ends = token.expires_at.as_ref().map_or("never".to_owned(), |at| format!("at {at}"));
    note(format_args!(
        "token '{}' with the role {} is made; it expires {ends}. It is shown this once:",
        token.name, token.role
    ));
    Ok(print_line(secret)?)
}

pub(super) async fn key(
    client: &Client,
    command: KeyCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        KeyCommand::Add { name, role, file } => {
            let public_key_pem = fs::read_to_string(&file)
                .with_context(|| format!("cannot read the key in {}", file.display()))?;
            let request = AddKey { name, role: role.into(), public_key_pem };
            let key: Key = client.send_body(Method::POST, "/keys", &request).await?;
            let said = |key: &Key| {
                format!(
                    "key '{}' ({}) is registered: tokens that it signs are let in, with the role \
                     {} at most",
                    key.name, key.algorithm, key.role
                )
            };
            print(output, &key, said)
        }
        KeyCommand::List => {
            let keys: Vec<Key> = client.get("/keys").await?;
            print(output, &keys, |keys| tables::keys(keys))
        }
        KeyCommand::Remove { name } => {
            client.command(Method::DELETE, &format!("/keys/{}", segment(&name)?)).await?;
            let said = format!("key '{name}' is removed: what it has signed is not believed");
            print_done(output, "key", &name, "removed", &said)
        }
    }
}

pub(super) async fn session(client: &Client, output: Output) -> anyhow::Result<()> {
    let session: Session = client.get("/session").await?;
    print(output, &session, tables::session)
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Viewer => Role::Viewer,
            RoleName::Operator => Role::Operator,
            RoleName::Admin => Role::Admin,
        }
    }
}
