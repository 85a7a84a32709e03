//! The query of a request, and why it is refused, in the words of the API.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ErrorCode};

/// What the query says.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        found.map(|axum::extract::Query(query)| Query(query)).map_err(|refusal| {
            let query = parts.uri.query().unwrap_or_default();
            let said = refusal.body_text();
            // The decoder's own words come last.
            let why = said.rsplit(": ").next().unwrap_or_default().replace('`', "'");
            let why = format!("'{query}' is not understood: {why}");
            ApiError::new(ErrorCode::InvalidQuery, why)
                .with_hint("/api/v1/openapi.json says what each query may have")
        })
    }
}
