//! Readers that are slow, buffers that run out: what comes in must be bounded, complete, and fair.

use super::{pair, pattern, recv_until, send_all};
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

/// More slow readers than there are shared buffers, each keeping all it may: one more connection must
/// still be served.
#[test]
fn slow_readers_do_not_starve_the_others() {
    run(tight(), async {
        let mut slow = Vec::new();
        for _ in 0..24 {
            let (client, server) = pair().await;
            send_all(&client, pattern(6 << 10)).await;
            let kept = [server.recv().await.unwrap().unwrap(), server.recv().await.unwrap().unwrap()];
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
