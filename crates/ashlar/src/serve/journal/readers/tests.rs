use std::sync::mpsc;

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::*;

const LONG: Duration = Duration::from_secs(60);

/// A read that ends once something is sent.
fn held(
    readers: &Readers,
    reader: Reader,
) -> (impl Future<Output = io::Result<u8>>, mpsc::Sender<()>) {
    let (end, ends) = mpsc::channel();
    let read = readers.read(reader, move || {
        let _ = ends.recv();
        Ok(0)
    });
    (read, end)
}

#[tokio::test]
async fn clients_who_ask_for_much_keep_no_receiver_and_no_follower_from_reading() {
    let readers = Readers::default();
    let (long, end) = held(&readers, Reader::Question);
    let mut long = Box::pin(long);
    assert!(long.as_mut().now_or_never().is_none());
    for reader in [Reader::Receiver, Reader::Follower] {
        let read =
            timeout(LONG, readers.read(reader, || Ok(1))).await.expect("it waits for nobody");
        assert_eq!(read.expect("it is read"), 1);
    }
    drop(end);
    long.await.expect("it is read");
}

#[tokio::test]
async fn a_few_questions_wait_for_their_turn_and_the_others_are_asked_to_come_again() {
    let readers = Readers::default();
    let (long, end) = held(&readers, Reader::Question);
    let mut long = Box::pin(long);
    assert!(long.as_mut().now_or_never().is_none());
    let mut few: Vec<_> =
        (0..QUESTIONS_MAX).map(|_| Box::pin(readers.read(Reader::Question, || Ok(1)))).collect();
    assert!(few.iter_mut().all(|read| read.as_mut().now_or_never().is_none()));
    let more = readers.read(Reader::Question, || Ok(1)).await.expect_err("there are too many");
    assert_eq!(more.kind(), io::ErrorKind::WouldBlock);
    drop(end);
    long.await.expect("it is read");
    assert!(join_all(few).await.into_iter().all(|read| read.is_ok()));
}

#[tokio::test]
async fn whoever_waits_for_a_read_that_hangs_is_told_so() {
    let readers = Readers::default();
    let _place = readers.receivers.places.clone().acquire_owned().await.expect("a place");
    *locked(&readers.receivers.begun) = Some(Instant::now() - 2 * RECEIVER_WAIT);
    let why = timeout(LONG, readers.read(Reader::Receiver, || Ok(1))).await.expect("in time");
    assert_eq!(why.expect_err("it hangs").kind(), io::ErrorKind::TimedOut);
}
