//! Tokens, and keys whose owners sign tokens of their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::paging::{Page, PageQuery, page, paged};
use crate::access::{Accounts, Caller, Role};
use crate::body::Body;
use crate::error::ApiError;
use crate::error::ErrorCode::{
    InvalidKey, InvalidName, InvalidSetting, KeyExists, NoSuchKey, NoSuchToken, StateNotWritten,
    TokenExists, TooManyAccounts,
};
use crate::operation::Route;
use crate::query::Query;
use crate::serve::SharedFacts;
use crate::types::{AddKey, CreateToken, Key, NewToken, Session, Token};

type Known = State<Arc<Accounts>>;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/session", "get_session", session)
            .text("Who asks, what they may do, and where the API is served.")
            .answers::<Session>("What the daemon knows of the caller."),
        paged(Route::get("/tokens", "list_tokens", tokens), "id")
            .text("All tokens. What their owners show is not kept.")
            .needs(Role::Admin)
            .answers_list::<Token>("All tokens, those that have expired included."),
        Route::post("/tokens", "create_token", create_token)
            .changes(Role::Admin, "token create")
            .text("Makes a token. Whoever shows it may do what its role may.")
            .takes::<CreateToken>()
            .makes::<NewToken>("The token, with what its owner shows.")
            .fails(&[InvalidName, InvalidSetting, TokenExists, TooManyAccounts, StateNotWritten]),
        Route::delete("/tokens/{token}", "revoke_token", revoke_token)
            .changes(Role::Admin, "token revoke")
            .text("Forgets a token. Whoever shows it is not let in any more, from now on.")
            .fails(&[NoSuchToken, StateNotWritten]),
        paged(Route::get("/keys", "list_keys", keys), "name")
            .text("All keys whose owners sign tokens of their own.")
            .needs(Role::Admin)
            .answers_list::<Key>("All keys."),
        Route::post("/keys", "add_key", add_key)
            .changes(Role::Admin, "key add")
            .text("Registers a public key. JSON web tokens (RFC 7519) that its owner signs are let in, with the claim `role` and no more than the key's role. They need the claim `exp`.")
            .takes::<AddKey>()
            .idempotent()
            .makes::<Key>("The key.")
            .fails(&[InvalidName, InvalidKey, KeyExists, TooManyAccounts, StateNotWritten]),
        Route::delete("/keys/{key}", "remove_key", remove_key)
            .changes(Role::Admin, "key remove")
            .text("Forgets a key. What it has signed is not believed any more, from now on.")
            .fails(&[NoSuchKey, StateNotWritten]),
    ]
}

async fn session(
    State(network): State<SharedFacts>,
    Extension(caller): Extension<Caller>,
) -> Json<Session> {
    let network = network.get();
    Json(Session {
        caller: caller.to_string(),
        role: caller.role,
        addresses: network.addresses.iter().map(ToString::to_string).collect(),
        certificate_fingerprint: network.fingerprint,
    })
}

async fn tokens(State(accounts): Known, Query(query): Query<PageQuery>) -> Page<Token> {
    page("/tokens", accounts.tokens(), |token| token.id.clone(), query)
}

async fn create_token(
    State(accounts): Known,
    Body(request): Body<CreateToken>,
) -> Result<(StatusCode, Json<NewToken>), ApiError> {
    Ok((StatusCode::CREATED, Json(accounts.create_token(&request).await?)))
}

async fn revoke_token(
    State(accounts): Known,
    Path(token): Path<String>,
) -> Result<StatusCode, ApiError> {
    accounts.revoke_token(&token).await.map(|()| StatusCode::NO_CONTENT)
}

async fn keys(State(accounts): Known, Query(query): Query<PageQuery>) -> Page<Key> {
    page("/keys", accounts.keys(), |key| key.name.clone(), query)
}

async fn add_key(
    State(accounts): Known,
    Body(request): Body<AddKey>,
) -> Result<(StatusCode, Json<Key>), ApiError> {
    Ok((StatusCode::CREATED, Json(accounts.add_key(&request).await?)))
}

async fn remove_key(
    State(accounts): Known,
    Path(key): Path<String>,
) -> Result<StatusCode, ApiError> {
    accounts.remove_key(&key).await.map(|()| StatusCode::NO_CONTENT)
}
