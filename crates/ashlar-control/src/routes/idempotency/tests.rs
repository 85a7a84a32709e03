use std::cell::Cell;

use futures_util::FutureExt;

use super::*;

fn key(client: &str, key: &str) -> Key {
    Key { client: client.to_owned(), key: key.to_owned() }
}

fn hash(text: &str) -> Hash {
    blake3::hash(text.as_bytes())
}

async fn text(response: Response) -> (StatusCode, bool, String) {
    let (status, is_replayed) =
        (response.status(), response.headers().contains_key(REPLAYED_HEADER));
    let body = to_bytes(response.into_body(), 1 << 20).await.expect("a body");
    (status, is_replayed, String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn what_has_succeeded_is_not_done_twice_and_answered_again() {
    let (answers, made, now) = (Answers::default(), Cell::new(0), Instant::now());
    let make = || async {
        made.set(made.get() + 1);
        (StatusCode::CREATED, format!("made {}", made.get())).into_response()
    };
    for is_replayed in [false, true] {
        let answer = answers.once(key("a", "k"), hash("v0"), now, make).await.expect("an answer");
        assert_eq!(text(answer).await, (StatusCode::CREATED, is_replayed, "made 1".to_owned()));
    }
    let other = answers.once(key("b", "k"), hash("v0"), now, make).await.expect("an answer");
    assert_eq!(text(other).await.2, "made 2", "keys are of their client");
    let later = now + KEPT_FOR + Duration::from_secs(1);
    let later = answers.once(key("a", "k"), hash("v1"), later, make).await.expect("an answer");
    assert_eq!(text(later).await.2, "made 3", "a key is free again after a day");
}

#[tokio::test]
async fn what_was_refused_may_be_tried_again_with_the_same_key() {
    let (answers, now) = (Answers::default(), Instant::now());
    let refuse = || async { (StatusCode::CONFLICT, "no room").into_response() };
    let refused = answers.once(key("a", "k"), hash("v0"), now, refuse).await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    let make = || async { (StatusCode::CREATED, "made").into_response() };
    let made = answers.once(key("a", "k"), hash("v0"), now, make).await.expect("an answer");
    assert_eq!(made.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn a_key_is_refused_for_another_request() {
    let (answers, now) = (Answers::default(), Instant::now());
    let make = || async { StatusCode::CREATED.into_response() };
    answers.once(key("a", "k"), hash("v0"), now, make).await.expect("an answer");
    let refused = answers.once(key("a", "k"), hash("v1"), now, make).await.expect_err("refused");
    assert_eq!(refused.code, ErrorCode::IdempotencyKeyReused);
}

#[tokio::test]
async fn what_is_kept_is_bounded() {
    let (answers, now) = (Answers::default(), Instant::now());
    let make = || async { StatusCode::CREATED.into_response() };
    for at in 0..KEPT_MAX + 2 {
        let now = now + Duration::from_millis(at as u64);
        answers.once(key("a", &at.to_string()), hash("v0"), now, make).await.expect("an answer");
    }
    let slots = answers.0.lock().unwrap();
    assert_eq!(slots.len(), KEPT_MAX);
    assert!(!slots.contains_key(&key("a", "0")) && slots.contains_key(&key("a", "2")));
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_bytes_too_and_the_oldest_go() {
    let (answers, now) = (Answers::default(), Instant::now());
    let large = || async { (StatusCode::CREATED, vec![b'x'; ANSWER_BYTES_MAX]).into_response() };
    let most = KEPT_BYTES_MAX / ANSWER_BYTES_MAX;
    for at in 0..most + 2 {
        let now = now + Duration::from_millis(at as u64);
        let name = at.to_string();
        let answer = answers.once(key("a", &name), hash("v0"), now, large).await;
        assert_eq!(text(answer.expect("an answer")).await.2.len(), ANSWER_BYTES_MAX);
    }
    let slots = answers.slots();
    assert_eq!(slots.len(), most);
    assert!(!slots.contains_key(&key("a", "1")) && slots.contains_key(&key("a", "2")));
}

#[tokio::test]
async fn two_who_ask_at_once_with_one_key_have_it_made_once() {
    let (answers, made, now) = (Answers::default(), Cell::new(0), Instant::now());
    let turn = tokio::sync::Semaphore::new(0);
    let make = || async {
        made.set(made.get() + 1);
        let _turn = turn.acquire().await;
        (StatusCode::CREATED, format!("made {}", made.get())).into_response()
    };
    let first = answers.once(key("a", "k"), hash("v0"), now, make);
    let second = answers.once(key("a", "k"), hash("v0"), now, make);
    let other = answers.once(key("a", "k"), hash("v1"), now, make);
    let both = futures_util::future::join3(first, second, other);
    futures_util::pin_mut!(both);
    // All three have come; the first is under way.
    assert!(both.as_mut().now_or_never().is_none());
    assert_eq!(made.get(), 1);
    turn.add_permits(1);
    let (first, second, other) = both.await;
    assert_eq!(
        other.expect_err("the key is for another request").code,
        ErrorCode::IdempotencyKeyReused
    );
    assert_eq!(text(first.unwrap()).await, (StatusCode::CREATED, false, "made 1".to_owned()));
    assert_eq!(text(second.unwrap()).await, (StatusCode::CREATED, true, "made 1".to_owned()));
    // One whose first attempt is refused is done by the next, one after the other.
    let refuse = || async { StatusCode::CONFLICT.into_response() };
    let refused = answers.once(key("a", "n"), hash("v0"), now, refuse);
    let done = answers.once(key("a", "n"), hash("v0"), now, make);
    turn.add_permits(1);
    let (refused, done) = futures_util::future::join(refused, done).await;
    assert_eq!(refused.unwrap().status(), StatusCode::CONFLICT);
    assert_eq!(text(done.unwrap()).await, (StatusCode::CREATED, false, "made 2".to_owned()));
}

#[tokio::test]
async fn what_is_refused_without_end_takes_no_room_and_pushes_out_nothing_that_was_made() {
    let (answers, now) = (Answers::default(), Instant::now());
    let make = || async { (StatusCode::CREATED, "made").into_response() };
    answers.once(key("a", "k"), hash("v0"), now, make).await.expect("an answer");
    let refuse = || async { StatusCode::CONFLICT.into_response() };
    for at in 0..=KEPT_MAX {
        let refused = key("b", &at.to_string());
        answers.once(refused, hash("v0"), now, refuse).await.expect("an answer");
    }
    assert_eq!(answers.slots().len(), 1);
    let again = answers.once(key("a", "k"), hash("v0"), now, refuse).await.expect("an answer");
    assert_eq!(text(again).await, (StatusCode::CREATED, true, "made".to_owned()));
}

#[tokio::test]
async fn a_request_that_ended_without_an_answer_makes_room_for_others() {
    let (answers, now) = (Answers::default(), Instant::now());
    let hang = || std::future::pending::<Response>();
    for at in 0..KEPT_MAX {
        let left = key("a", &at.to_string());
        assert!(answers.once(left, hash("v0"), now, hang).now_or_never().is_none());
    }
    let make = || async { (StatusCode::CREATED, "made").into_response() };
    for is_replayed in [false, true] {
        let made = answers.once(key("b", "k"), hash("v0"), now, make).await.expect("an answer");
        assert_eq!(text(made).await.1, is_replayed);
    }
    assert!(answers.slots().len() <= KEPT_MAX);
}
