//! Readers that are slow, buffers that run out: what comes in must be bounded, complete, and fair.

use bytes::Bytes;

use super::{pair, pattern, recv_until, send_all};
use crate::net::TcpStream;
use crate::{Config, run, spawn, spawn_joined, stats, yield_now};

/// Few and small shared buffers, so that their limits are met.
fn tight() -> Config {
    Config {
        recv_buffer_bytes: 1024,
        recv_buffer_count: 16,
        recv_held_per_connection_max: 4,
        recv_queued_bytes_max: 8 << 10,
        ..Config::default()
    }
}

#[test]
fn shared_buffers_that_run_out_cost_no_byte() {
    run(tight(), async {
        let (client, server) = pair().await;
        let expected = pattern(4 << 20);
        let sent = expected.clone();
        spawn(async move { send_all(&client, sent).await });
        assert!(recv_until(&server, expected.len()).await == expected);
        let stats = stats();
        assert!(stats.recv_copies > 0, "{stats:?}");
        assert!(stats.recv_exhausted + stats.recv_pauses > 0, "{stats:?}");
    })
    .unwrap();
}

#[test]
fn a_reader_that_stops_lets_only_so_much_gather() {
    run(tight(), async {
        let (client, server) = pair().await;
        let expected = pattern(16 << 20);
        let sent = expected.clone();
        let sender = spawn_joined(async move { send_all(&client, sent).await });
        let first = server.recv().await.unwrap().unwrap();
        let mut received = first.to_vec();
        drop(first);
        while stats().recv_pauses == 0 {
            yield_now().await;
        }
        for _ in 0..100 {
            yield_now().await;
            assert!(server.queued_bytes() <= 256 << 10, "{} bytes", server.queued_bytes());
        }
        assert!(!sender.is_finished(), "the peer was not held back");
        received.extend(recv_until(&server, expected.len() - received.len()).await);
        assert!(received == expected);
    })
    .unwrap();
}

#[test]
fn a_connection_that_receives_sparingly_lets_one_small_chunk_gather() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        server.receive_sparingly(true);
        let expected = pattern(1 << 20);
        let sent = expected.clone();
        spawn(async move { send_all(&client, sent).await });
        let mut received = Vec::new();
        while received.len() < expected.len() / 2 {
            let chunk = server.recv().await.unwrap().unwrap();
            for _ in 0..10 {
                yield_now().await;
            }
            assert!(chunk.len() <= 4 << 10 && server.queued_bytes() == 0);
            received.extend_from_slice(&chunk);
        }
        server.receive_sparingly(false);
        received.extend(recv_until(&server, expected.len() - received.len()).await);
        assert!(received == expected);
    })
    .unwrap();
}

/// More slow readers than there are shared buffers, each keeping all it may: one more connection
/// must still be served.
#[test]
fn slow_readers_do_not_starve_the_others() {
    run(tight(), async {
        let mut slow = Vec::new();
        for _ in 0..24 {
            let (client, server) = pair().await;
            send_all(&client, pattern(6 << 10)).await;
            let kept =
                [server.recv().await.unwrap().unwrap(), server.recv().await.unwrap().unwrap()];
            slow.push((client, server, kept));
        }
        let (client, server) = pair().await;
        let expected = pattern(1 << 20);
        let sent = expected.clone();
        spawn(async move { send_all(&client, sent).await });
        assert!(recv_until(&server, expected.len()).await == expected);
        for (_, server, kept) in slow {
            let mut received: Vec<u8> = kept.iter().flat_map(|chunk| chunk.to_vec()).collect();
            drop(kept);
            received.extend(recv_until(&server, (6 << 10) - received.len()).await);
            assert!(received == pattern(6 << 10));
        }
    })
    .unwrap();
}

/// Receives what `client` is made to send as chunks of their own, and splits each off whole.
async fn parts(client: &TcpStream, server: &TcpStream, count: usize) -> Vec<Bytes> {
    let mut parts = Vec::new();
    for number in 0..count {
        send_all(client, pattern(100 + number)).await;
        let mut chunk = server.recv().await.unwrap().unwrap();
        parts.push(chunk.split_to(100 + number));
    }
    parts
}

#[test]
fn what_was_split_off_stays_as_it_was_while_others_are_received() {
    run(tight(), async {
        let (client, server) = pair().await;
        let parts = parts(&client, &server, 3).await;
        let expected = pattern(1 << 20);
        let sent = expected.clone();
        spawn(async move { send_all(&client, sent).await });
        assert!(recv_until(&server, expected.len()).await == expected);
        assert!((0..3).all(|number| parts[number] == pattern(100 + number)));
    })
    .unwrap();
}

#[test]
fn the_rest_of_a_chunk_can_be_used_after_a_part_was_split_off() {
    run(tight(), async {
        let (client, server) = pair().await;
        send_all(&client, pattern(300)).await;
        let mut chunk = server.recv().await.unwrap().unwrap();
        chunk.advance(10);
        let parts = [chunk.split_to(90), chunk.split_to(100)];
        assert!(*parts.concat() == pattern(300)[10..200] && *chunk == pattern(300)[200..]);
    })
    .unwrap();
}

/// A connection that keeps its share has the rest copied, until what it kept is dropped, here or on
/// another thread.
#[test]
fn a_part_gives_its_buffer_back_on_whatever_thread_it_is_dropped() {
    run(tight(), async {
        let (client, server) = pair().await;
        let mut copies = 0;
        for is_elsewhere in [false, true] {
            let kept = parts(&client, &server, 5).await;
            copies += 1;
            assert_eq!(stats().recv_copies, copies, "the share is 4");
            match is_elsewhere {
                true => std::thread::spawn(move || drop(kept)).join().unwrap(),
                false => drop(kept),
            }
            // The second one lets a turn go by, in which what other threads bring is looked at.
            yield_now().await;
            yield_now().await;
        }
        drop(parts(&client, &server, 4).await);
        assert_eq!(stats().recv_copies, copies);
    })
    .unwrap();
}

#[test]
fn what_is_copied_beyond_the_share_is_split_without_another_copy() {
    run(tight(), async {
        let (client, server) = pair().await;
        let kept = parts(&client, &server, 4).await;
        send_all(&client, pattern(300)).await;
        let mut chunk = server.recv().await.unwrap().unwrap();
        assert_eq!((stats().recv_copies, stats().recv_held), (1, 4));
        let start = chunk.as_ptr();
        let parts = [chunk.split_to(90), chunk.split_to(100)];
        assert_eq!((parts[0].as_ptr(), parts[1].as_ptr()), (start, start.wrapping_add(90)));
        assert!(*parts.concat() == pattern(300)[..190] && *chunk == pattern(300)[190..]);
        drop(kept);
        assert_eq!(stats().recv_held, 0);
    })
    .unwrap();
}

#[test]
fn a_part_may_outlive_its_reactor() {
    let part = run(tight(), async {
        let (client, server) = pair().await;
        parts(&client, &server, 1).await.remove(0)
    });
    assert!(part.unwrap() == pattern(100));
}

/// The kernel has 8 of 16 buffers at a time. What connections hold is made up for from the others.
#[test]
fn connections_may_hold_more_than_the_kernel_has_at_a_time() {
    let config =
        Config { recv_buffer_bytes: 512 << 10, recv_buffer_count: 16, ..Config::default() };
    run(config, async {
        let mut kept = Vec::new();
        for number in 0..12 {
            let (client, server) = pair().await;
            kept.extend(parts(&client, &server, 1).await);
            assert_eq!(stats().recv_copies, 0, "{number} are held");
        }
        assert!(kept.iter().all(|part| *part == pattern(100)));
        drop(kept);
        let (client, server) = pair().await;
        let expected = pattern(16 << 20);
        let sent = expected.clone();
        spawn(async move { send_all(&client, sent).await });
        assert!(recv_until(&server, expected.len()).await == expected);
    })
    .unwrap();
}
