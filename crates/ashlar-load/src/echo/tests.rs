use std::time::Duration;

use ashlar_reactor::net::{BindOptions, TcpListener};
use ashlar_reactor::{Config, run, spawn_joined};

use super::{Cutter, measure, serve};
use crate::load::{Direction, Load};

#[test]
fn messages_are_cut_wherever_the_stream_is() {
    let mut stream = Vec::new();
    for (length, reply) in [(8_u32, 1_u32), (100, 2), (9, 3)] {
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&reply.to_le_bytes());
        stream.resize(stream.len() + length as usize - 8, 0);
    }
    for piece_bytes in [1, 7, 64, 200] {
        let mut cutter = Cutter::default();
        let mut replies = Vec::new();
        for piece in stream.chunks(piece_bytes) {
            cutter.take(piece, |reply| replies.push(reply)).unwrap();
        }
        assert_eq!(replies, [1, 2, 3], "pieces of {piece_bytes}");
    }
    assert!(Cutter::default().take(&[1, 0, 0, 0, 0, 0, 0, 0], |_| ()).is_err());
}

#[test]
fn every_pattern_is_echoed() {
    let figures = run(Config::default(), async {
        let listener =
            TcpListener::bind(([127, 0, 0, 1], 0).into(), &BindOptions::default()).unwrap();
        let address = listener.local_addr();
        let _server = spawn_joined(serve(listener));
        let mut all = Vec::new();
        for direction in [Direction::Read, Direction::Write] {
            for bytes in [4 << 10, 128 << 10] {
                let load = Load {
                    duration: Duration::from_millis(50),
                    ..Load::new(direction, bytes, 2, 4)
                };
                all.push(measure(address, load, None).await.unwrap());
            }
        }
        all
    });
    assert!(figures.unwrap().iter().all(|figures| figures.latency.count > 0));
}
