use std::thread;

use super::*;
use crate::{Config, run};

const MESSAGES: u64 = 20_000;

#[test]
fn messages_arrive_in_order_and_then_the_end() {
    let (mut send, mut receive) = channel(16);
    let writer = thread::spawn(move || {
        run(Config::default(), async move {
            for message in 0..MESSAGES {
                send.send(message).await.unwrap();
            }
        })
        .unwrap();
    });
    run(Config::default(), async move {
        for message in 0..MESSAGES {
            assert_eq!(receive.recv().await, Some(message));
        }
        assert_eq!(receive.recv().await, None);
    })
    .unwrap();
    writer.join().unwrap();
}

/// Both sides sleep for every message: a single lost wake would hang it.
#[test]
fn no_wake_is_lost_between_two_sleepers() {
    let (mut ping, mut pinged) = channel(1);
    let (mut pong, mut ponged) = channel(1);
    let other = thread::spawn(move || {
        run(Config::default(), async move {
            while let Some(message) = pinged.recv().await {
                pong.send(message).await.unwrap();
            }
        })
        .unwrap();
    });
    run(Config::default(), async move {
        for message in 0..MESSAGES / 10 {
            ping.send(message).await.unwrap();
            assert_eq!(ponged.recv().await, Some(message));
        }
    })
    .unwrap();
    other.join().unwrap();
}

#[test]
fn a_full_mailbox_gives_the_message_back() {
    let (mut send, mut receive) = channel(1);
    assert_eq!(send.try_send(1), Ok(()));
    assert_eq!(send.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receive.try_recv(), Some(1));
    assert_eq!(send.try_send(2), Ok(()));
}

#[test]
fn a_message_without_a_reader_comes_back() {
    let (mut send, receive) = channel(1);
    drop(receive);
    assert_eq!(send.try_send(1), Err(TrySendError::Closed(1)));
    assert_eq!(run(Config::default(), async move { send.send(2).await }).unwrap(), Err(Closed(2)));
}

#[test]
fn what_was_written_is_read_after_the_writer_left() {
    let (mut send, mut receive) = channel(4);
    send.try_send(1).unwrap();
    drop(send);
    let read = run(Config::default(), async move { [receive.recv().await, receive.recv().await] });
    assert_eq!(read.unwrap(), [Some(1), None]);
}
