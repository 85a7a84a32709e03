use std::future::{Future, poll_fn};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ashlar_block::AlignedBuf;
use bytes::Bytes;
use rustix::net::sockopt;

use crate::net::{BindOptions, SendList, TcpListener, TcpStream};
use crate::{Config, run, spawn, spawn_joined, stats, timeout, yield_now};

mod pressure;

fn localhost() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(localhost(), &BindOptions::default()).unwrap();
    let client = TcpStream::connect(listener.local_addr()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (client, server)
}

#[test]
fn what_is_sent_arrives_and_then_the_end() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        let list = ["two ", "pieces"]
            .into_iter()
            .map(|text| Bytes::from_static(text.as_bytes()))
            .collect();
        let (result, list): (_, SendList) = client.send(list).await;
        result.unwrap();
        assert_eq!(list.len_bytes(), 10);
        drop(client);
        let mut received = Vec::new();
        while let Some(chunk) = server.recv().await.unwrap() {
            received.extend_from_slice(&chunk);
        }
        assert_eq!(received, b"two pieces");
        assert!(server.recv().await.unwrap().is_none());
    })
    .unwrap();
}

#[test]
fn an_accepted_connection_notices_that_its_peer_is_gone() {
    run(Config::default(), async {
        let (_client, server) = pair().await;
        let socket = server.socket();
        assert!(sockopt::socket_keepalive(socket).unwrap());
        let seconds =
            [sockopt::tcp_keepidle(socket), sockopt::tcp_keepintvl(socket)].map(Result::unwrap);
        assert_eq!(seconds.map(|time| time.as_secs()), [60, 10]);
        assert_eq!(sockopt::tcp_keepcnt(socket).unwrap(), 3);
        assert_eq!(sockopt::tcp_user_timeout(socket).unwrap(), 90_000);
    })
    .unwrap();
}

/// Bytes that differ at every place, so that a lost, doubled or moved one is seen.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_le_bytes())
        .take(len)
        .collect()
}

/// Begins the operation, lets the kernel have it, and drops its future.
async fn begin_and_drop(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let submitted = stats().enters;
    while stats().enters == submitted {
        yield_now().await;
    }
}

async fn send_all(stream: &TcpStream, bytes: Vec<u8>) {
    stream.send(Bytes::from(bytes).into()).await.0.unwrap();
}

async fn recv_until(stream: &TcpStream, len: usize) -> Vec<u8> {
    let mut received = Vec::with_capacity(len);
    while received.len() < len {
        let Some(chunk) = stream.recv().await.unwrap() else { break };
        received.extend_from_slice(&chunk);
    }
    received
}

/// Somebody else may have the port that one of them is given by the other family: then another one
/// is tried.
fn listeners_on_one_port() -> (TcpListener, TcpListener) {
    let bind = |address| TcpListener::bind(address, &BindOptions::default());
    let mut pairs = (0..20).map(|_| {
        let v6 = bind(([0u16; 8], 0).into()).unwrap();
        Some((bind(([0; 4], v6.local_addr().port()).into()).ok()?, v6))
    });
    pairs.find_map(|pair| pair).expect("a port that is free by both families")
}

#[test]
fn an_address_is_free_unless_somebody_listens_there_and_would_share_it_or_not() {
    run(Config::default(), async {
        for reuse_port in [false, true] {
            let options = BindOptions { reuse_port, ..BindOptions::default() };
            let listener = TcpListener::bind(localhost(), &options).unwrap();
            let taken = TcpListener::check_free(listener.local_addr()).unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        }
        TcpListener::check_free(localhost()).unwrap();
    })
    .unwrap();
}

#[test]
fn ipv4_and_ipv6_have_listeners_of_their_own_on_one_port() {
    run(Config::default(), async {
        let (v4, v6) = listeners_on_one_port();
        let port = v4.local_addr().port();
        let loopback = [([127, 0, 0, 1], port).into(), ([0, 0, 0, 0, 0, 0, 0, 1], port).into()];
        for (listener, target) in [v4, v6].into_iter().zip(loopback) {
            let client = TcpStream::connect(target).await.unwrap();
            let (server, peer) = listener.accept().await.unwrap();
            assert_eq!(peer.port(), client.local_addr().unwrap().port());
            send_all(&server, b"hello".to_vec()).await;
            assert_eq!(recv_until(&client, 5).await, b"hello");
        }
    })
    .unwrap();
}

#[test]
fn a_port_in_use_and_a_closed_one_are_reported() {
    run(Config::default(), async {
        let listener = TcpListener::bind(localhost(), &BindOptions::default()).unwrap();
        let address = listener.local_addr();
        let taken = TcpListener::bind(address, &BindOptions::default()).err().unwrap();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        // The kernel ends the listener a moment after its close.
        let refused = loop {
            if let Err(error) = TcpStream::connect(address).await {
                break error;
            }
        };
        assert!(matches!(
            refused.kind(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
        ));
    })
    .unwrap();
}

#[test]
fn several_reactors_may_share_a_port() {
    run(Config::default(), async {
        let shared = BindOptions { reuse_port: true, ..BindOptions::default() };
        let first = TcpListener::bind(localhost(), &shared).unwrap();
        TcpListener::bind(first.local_addr(), &shared).unwrap();
    })
    .unwrap();
}

#[test]
fn an_accept_that_was_given_up_loses_no_connection() {
    run(Config::default(), async {
        let listener = TcpListener::bind(localhost(), &BindOptions::default()).unwrap();
        assert!(timeout(Duration::ZERO, listener.accept()).await.is_err());
        let _client = TcpStream::connect(listener.local_addr()).await.unwrap();
        listener.accept().await.unwrap();
    })
    .unwrap();
}

#[test]
fn a_long_list_is_sent_whole_through_a_socket_that_takes_it_in_parts() {
    const PIECES: usize = 5000;
    run(Config::default(), async {
        let (client, server) = pair().await;
        let expected = pattern(PIECES * 1000);
        let whole = Bytes::from(expected.clone());
        let list: SendList =
            (0..PIECES).map(|piece| whole.slice(piece * 1000..(piece + 1) * 1000)).collect();
        let sender = spawn_joined(async move { client.send(list).await.0 });
        assert!(recv_until(&server, expected.len()).await == expected);
        sender.await.unwrap();
    })
    .unwrap();
}

#[test]
fn a_send_list_can_be_filled_again() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        let mut list = SendList::new();
        for round in 0..3u8 {
            list.clear();
            list.push(Bytes::new());
            list.push(Bytes::from(vec![round; 10]));
            let (result, returned) = client.send(list).await;
            result.unwrap();
            list = returned;
            assert_eq!(recv_until(&server, 10).await, [round; 10]);
        }
        assert!(client.send(SendList::new()).await.0.is_ok(), "nothing is sent at once");
    })
    .unwrap();
}

#[test]
fn two_sends_at_once_and_a_send_after_a_dropped_one_are_refused() {
    run(Config::default(), async {
        let (client, _server) = pair().await;
        let large = Bytes::from(vec![0; 32 << 20]);
        begin_and_drop(client.send(large.into())).await;
        let refused = client.send(Bytes::from_static(b"more").into()).await.0.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
    })
    .unwrap();
}

/// Nobody receives on the other side: a reset must reach a sender that waits.
#[test]
fn a_peer_that_goes_away_ends_a_send() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        let sender =
            spawn_joined(async move { client.send(Bytes::from(vec![0; 32 << 20]).into()).await.0 });
        yield_now().await;
        drop(server);
        let kind = sender.await.unwrap_err().kind();
        assert!(
            matches!(kind, io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe),
            "{kind}"
        );
    })
    .unwrap();
}

#[test]
fn shutting_down_one_direction_leaves_the_other() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        client.shutdown(Shutdown::Write).await.unwrap();
        assert!(server.recv().await.unwrap().is_none());
        send_all(&server, b"still here".to_vec()).await;
        assert_eq!(recv_until(&client, 10).await, b"still here");
    })
    .unwrap();
}

#[test]
fn a_large_payload_goes_to_the_callers_buffer_and_the_stream_goes_on_behind_it() {
    const PAYLOAD_BYTES: usize = 128 << 10;
    run(Config::default(), async {
        let (client, server) = pair().await;
        let mut stream_bytes = Vec::new();
        for _ in 0..20 {
            stream_bytes.extend_from_slice(b"header..");
            stream_bytes.extend(pattern(PAYLOAD_BYTES));
        }
        stream_bytes.extend_from_slice(b"the end");
        spawn(async move { send_all(&client, stream_bytes).await });
        for _ in 0..20 {
            let (result, header) = server.recv_exact(AlignedBuf::stale(8), 0).await;
            result.unwrap();
            assert_eq!(&*header, b"header..");
            let (result, payload) = server.recv_exact(AlignedBuf::stale(PAYLOAD_BYTES), 0).await;
            result.unwrap();
            assert!(*payload == *pattern(PAYLOAD_BYTES));
        }
        assert_eq!(recv_until(&server, 7).await, b"the end");
    })
    .unwrap();
}

#[test]
fn what_was_received_with_the_header_counts_towards_the_payload() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        send_all(&client, pattern(100_000)).await;
        let mut chunk = server.recv().await.unwrap().unwrap();
        let mut payload = AlignedBuf::stale(99_000);
        payload[..10].copy_from_slice(&chunk[..10]);
        chunk.advance(10);
        server.unrecv(chunk);
        let (result, payload) = server.recv_exact(payload, 10).await;
        result.unwrap();
        assert!(*payload == pattern(100_000)[..99_000]);
        assert!(recv_until(&server, 1_000).await == pattern(100_000)[99_000..]);
    })
    .unwrap();
}

#[test]
fn a_peer_that_closes_within_a_payload_is_an_error() {
    run(Config::default(), async {
        for len in [100, 1 << 20] {
            let (client, server) = pair().await;
            send_all(&client, vec![1; 50]).await;
            drop(client);
            let (result, _) = server.recv_exact(AlignedBuf::stale(len), 0).await;
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    })
    .unwrap();
}

#[test]
fn a_receive_that_was_given_up_loses_no_byte() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        begin_and_drop(server.recv()).await;
        send_all(&client, b"late".to_vec()).await;
        assert_eq!(recv_until(&server, 4).await, b"late");
    })
    .unwrap();
}

/// The direct receive is dropped while the kernel fills its buffer. The memory must stay the
/// kernel's until it is done, and the connection must not pretend to know where the stream is.
#[test]
fn a_direct_receive_that_was_given_up_ends_the_connection_and_keeps_its_memory() {
    run(Config::default(), async {
        let (client, server) = pair().await;
        send_all(&client, vec![9; 1000]).await;
        let lent = AlignedBuf::stale(1 << 20);
        let address = lent.as_ptr();
        begin_and_drop(server.recv_exact(lent, 0)).await;
        let mut later = AlignedBuf::stale(1 << 20);
        later.fill(0);
        assert_ne!(later.as_ptr(), address, "the memory was given away");
        send_all(&client, vec![9; 1000]).await;
        let error = server.recv().await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        assert!(later.iter().all(|byte| *byte == 0));
    })
    .unwrap();
}

#[test]
fn received_bytes_outlive_connection_and_reactor() {
    let chunk = run(Config::default(), async {
        let (client, server) = pair().await;
        send_all(&client, b"kept".to_vec()).await;
        server.recv().await.unwrap().unwrap()
    });
    assert_eq!(&*chunk.unwrap(), b"kept");
}

#[test]
fn thousands_of_connections_leave_no_descriptor_behind() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    run(Config::default(), async move {
        let listener = TcpListener::bind(localhost(), &BindOptions::default()).unwrap();
        let before = open();
        for _ in 0..2000 {
            let client = TcpStream::connect(listener.local_addr()).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            assert!(timeout(Duration::ZERO, server.recv()).await.is_err());
            drop((client, server));
        }
        // Other tests of this process open some of their own.
        while open() > before + 500 {
            yield_now().await;
        }
    })
    .unwrap();
}
