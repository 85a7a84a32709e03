//! A client that has got no answer may send its request again: with the same `Idempotency-Key` what
//! was made is not made twice, and the first answer comes again (IETF draft
//! `httpapi-idempotency-key-header`).
//!
//! 1. Requests of one key are done one after the other, and only until one has succeeded: what was
//!    refused may be tried again.
//! 2. Keys are of their client: nobody reads the answers of others.
//! 3. What is kept is bounded. Keys do not outlive the daemon: what was made then says so itself,
//!    as `volume_exists`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use blake3::Hash;
use tokio::sync::OnceCell;

use crate::access::Caller;
use crate::error::{ApiError, ErrorCode};

#[cfg(test)]
mod tests;

/// The header that has the key, and the one that an answer has that is given again.
pub(crate) const KEY_HEADER: &str = "idempotency-key";
const REPLAYED_HEADER: &str = "idempotency-replayed";
/// Longest key.
const KEY_BYTES_MAX: usize = 255;
/// Most answers that are kept, for how long, and how large each and all may be.
const KEPT_MAX: usize = 4096;
const KEPT_BYTES_MAX: usize = 16 << 20;
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The answers to what was asked for with a key.
#[derive(Default)]
pub(crate) struct Answers(Mutex<HashMap<Key, Slot>>);

/// Whose key, and which.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    client: String,
    key: String,
}

impl Key {
    /// The key of a request, if it has one.
    ///
    /// # Errors
    /// It is empty, too long or no text.
    pub fn of(headers: &HeaderMap, caller: &Caller) -> Result<Option<Self>, ApiError> {
        let Some(value) = headers.get(KEY_HEADER) else { return Ok(None) };
        let key = value.to_str().unwrap_or_default().trim();
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let why = format!("Idempotency-Key has to be 1 to {KEY_BYTES_MAX} visible characters");
            return Err(ApiError::new(ErrorCode::InvalidRequest, why));
        }
        Ok(Some(Key { client: caller.name(), key: key.to_owned() }))
    }
}

struct Slot {
    request: Hash,
    since: Instant,
    answer: Arc<OnceCell<Kept>>,
}

impl Slot {
    /// What its answer takes.
    fn bytes(&self) -> usize {
        self.answer.get().map_or(0, |kept| kept.body.len())
    }

    /// Whether nothing came of it, and nobody is about to make it.
    fn is_left(&self) -> bool {
        !self.answer.initialized() && Arc::strong_count(&self.answer) == 1
    }
}

/// An answer that is kept.
#[derive(Clone)]
struct Kept {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    body: Bytes,
}

impl Answers {
    /// The answer to what was asked for with this key before; or else what `make` answers, which is
    /// kept if it is a success. `request`: a hash of all that the request says.
    ///
    /// # Errors
    /// The key was used for another request.
    pub async fn once<F: Future<Output = Response>>(
        &self,
        key: Key,
        request: Hash,
        now: Instant,
        make: impl FnOnce() -> F,
    ) -> Result<Response, ApiError> {
        let cell = self.slot(&key, request, now)?;
        let mut is_new = false;
        let kept = cell.get_or_try_init(async || {
            is_new = true;
            kept(make().await).await
        });
        match kept.await {
            Ok(kept) => {
                let answer = kept.clone().answer(!is_new);
                make_room(&mut self.slots(), now, KEPT_MAX);
                Ok(answer)
            }
            Err(refused) => {
                self.forget(&key, cell);
                Ok(refused)
            }
        }
    }

    /// Forgets a key of which nothing came, unless others wait with it for their turn.
    fn forget(&self, key: &Key, cell: Arc<OnceCell<Kept>>) {
        let mut slots = self.slots();
        let is_same = slots.get(key).is_some_and(|slot| Arc::ptr_eq(&slot.answer, &cell));
        // Others come by the slot alone, under the lock.
        drop(cell);
        if is_same && slots.get(key).is_some_and(Slot::is_left) {
            slots.remove(key);
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Slot>> {
        self.0.lock().expect("no holder of the lock panics")
    }

    fn slot(
        &self,
        key: &Key,
        request: Hash,
        now: Instant,
    ) -> Result<Arc<OnceCell<Kept>>, ApiError> {
        let mut slots = self.slots();
        if slots.len() >= KEPT_MAX && !slots.contains_key(key) {
            make_room(&mut slots, now, KEPT_MAX - 1);
        }
        let is_over = |slot: &Slot| now.saturating_duration_since(slot.since) > KEPT_FOR;
        let known = slots.get(key).filter(|slot| !is_over(slot));
        let cell = match known {
            Some(slot) if slot.request == request => return Ok(slot.answer.clone()),
            Some(_) => return Err(used_otherwise()),
            None => Arc::new(OnceCell::new()),
        };
        slots.insert(key.clone(), Slot { request, since: now, answer: cell.clone() });
        Ok(cell)
    }
}

/// Forgets what is over, and the oldest answers until no more than that are left, and no more bytes
/// than may be. What is being done is not forgotten: it would be done twice.
fn make_room(slots: &mut HashMap<Key, Slot>, now: Instant, most: usize) {
    let mut bytes: usize = slots.values().map(Slot::bytes).sum();
    if slots.len() <= most && bytes <= KEPT_BYTES_MAX {
        return;
    }
    slots.retain(|_, slot| now.saturating_duration_since(slot.since) <= KEPT_FOR);
    bytes = slots.values().map(Slot::bytes).sum();
    while slots.len() > most || bytes > KEPT_BYTES_MAX {
        let done = slots.iter().filter(|(_, slot)| slot.answer.initialized() || slot.is_left());
        let oldest = done.min_by_key(|(_, slot)| slot.since).map(|(key, _)| key.clone());
        let Some(oldest) = oldest.and_then(|oldest| slots.remove(&oldest)) else { return };
        bytes -= oldest.bytes();
    }
}

/// What is kept of an answer.
///
/// # Errors
/// The answer itself: it is no success.
async fn kept(response: Response) -> Result<Kept, Response> {
    if !response.status().is_success() {
        return Err(response);
    }
    let (parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, ANSWER_BYTES_MAX).await else {
        let why = "it is done, but its answer is too large to be kept";
        return Err(ApiError::new(ErrorCode::Internal, why).into_response());
    };
    Ok(Kept { status: parts.status, content_type: parts.headers.get(CONTENT_TYPE).cloned(), body })
}

impl Kept {
    fn answer(self, is_replayed: bool) -> Response {
        let mut response = (self.status, Body::from(self.body)).into_response();
        let headers = response.headers_mut();
        headers.extend(self.content_type.map(|kind| (CONTENT_TYPE, kind)));
        if is_replayed {
            headers.insert(REPLAYED_HEADER, HeaderValue::from_static("true"));
        }
        response
    }
}

fn used_otherwise() -> ApiError {
    ApiError::new(ErrorCode::IdempotencyKeyReused, "this Idempotency-Key was for another request")
        .with_hint("take a new key, as a random UUID, for each new request")
}
