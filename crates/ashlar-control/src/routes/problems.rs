//! What each `code` of an error means: where the `type` of a problem leads to.

use axum::Json;
use axum::extract::Path;

use super::Answer;
use crate::error::{ApiError, ErrorCode, ErrorMeaning};
use crate::operation::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/errors", "list_errors", errors)
            .text("Every code of an error, with what it means.")
            .answers_list::<ErrorMeaning>("All codes."),
        Route::get("/errors/{code}", "get_error", error)
            .text("What a code of an error means. The `type` of a problem leads here.")
            .answers::<ErrorMeaning>("The code.")
            .fails(&[ErrorCode::NoSuchError]),
    ]
}

async fn errors() -> Json<Vec<ErrorMeaning>> {
    Json(ErrorCode::ALL.iter().map(|code| code.meaning()).collect())
}

async fn error(Path(code): Path<String>) -> Answer<ErrorMeaning> {
    let found = ErrorCode::of_word(&code).map(|code| Json(code.meaning()));
    found.ok_or_else(|| {
        let why = format!("there is no code '{code}': /api/v1/errors lists which there are");
        ApiError::new(ErrorCode::NoSuchError, why)
    })
}
