//! What may cost something asks first: one rule for the command line and all other clients.
//!
//! A request that destroys data, cuts hosts off from volumes or leaves a pool with fewer drives is
//! refused with [`ErrorCode::ConfirmationNeeded`], and the refusal says what the request costs. The
//! client that accepts that repeats it with `confirm=true`. The daemon never decides by whether a
//! host is connected at the moment that it looks: a host may connect the moment after.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;

use crate::error::{ApiError, ErrorCode};
use crate::query::Query;

/// How the query says it.
pub const CONFIRM: &str = "confirm=true";

/// Whether the client accepts what its request costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consent {
    /// It has said so.
    Given,
    /// It has said so, and its role may not lose data.
    GivenToKeep,
    /// It has not.
    Missing,
}

impl Consent {
    /// Consent, if `is_given`.
    pub fn of(is_given: bool) -> Self {
        if is_given { Consent::Given } else { Consent::Missing }
    }

    /// The same of a client whose role may not lose data.
    pub fn to_keep(self) -> Self {
        match self {
            Consent::Missing => Consent::Missing,
            Consent::Given | Consent::GivenToKeep => Consent::GivenToKeep,
        }
    }

    /// Lets a request on that loses data, if the client has consented and may.
    ///
    /// # Errors
    /// As of [`Self::check`]; or that the client's role may not.
    pub fn check_loss(self, costs: impl FnOnce() -> String) -> Result<(), ApiError> {
        match self {
            Consent::GivenToKeep => {
                Err(ApiError::new(ErrorCode::Forbidden, costs()).with_hint("an admin may do that"))
            }
            Consent::Given | Consent::Missing => self.check(costs),
        }
    }

    /// Lets the request on if the client has consented.
    ///
    /// # Errors
    /// What it costs, as `costs` says it.
    pub fn check(self, costs: impl FnOnce() -> String) -> Result<(), ApiError> {
        match self {
            Consent::Given | Consent::GivenToKeep => Ok(()),
            Consent::Missing => Err(ApiError::new(ErrorCode::ConfirmationNeeded, costs())
                .with_hint(format!(
                    "add --yes to consent; clients of the API repeat the request with ?{CONFIRM}"
                ))),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Consent {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(asked) = Query::<Asked>::from_request_parts(parts, state).await?;
        Ok(Consent::of(asked.confirm))
    }
}

/// What the query says of it.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    confirm: bool,
}
#[cfg(test)]
mod tests;
