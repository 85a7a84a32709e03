//! Steady I/O allocates nothing: counted by the allocator itself.

use std::rc::Rc;

use ashlar_block::AlignedBuf;
use ashlar_reactor::allocations::{Counting, of_this_thread};
use ashlar_reactor::fs::{File, OpenOptions};
use ashlar_reactor::net::{BindOptions, SendList, TcpListener, TcpStream};
use ashlar_reactor::{Config, run, spawn};
use bytes::Bytes;

#[global_allocator]
static COUNTING: Counting = Counting;

const WARM_UP_ROUNDS: usize = 200;
const ROUNDS: usize = 1000;

async fn echo_round(stream: &TcpStream, message: &Bytes, mut list: SendList) -> SendList {
    list.clear();
    list.push(message.clone());
    let (result, list) = stream.send(list).await;
    result.unwrap();
    let mut missing = message.len();
    while missing > 0 {
        missing -= stream.recv().await.unwrap().expect("the echo").len();
    }
    list
}

async fn echo(stream: TcpStream) {
    let message = Bytes::from(vec![1; 4096]);
    let mut list = SendList::new();
    let mut have = 0;
    while let Some(chunk) = stream.recv().await.unwrap() {
        have += chunk.len();
        drop(chunk);
        if have >= message.len() {
            have -= message.len();
            list.clear();
            list.push(message.clone());
            list = stream.send(list).await.1;
        }
    }
}

#[test]
fn requests_over_tcp_allocate_nothing() {
    run(Config::default(), async {
        let listener =
            TcpListener::bind(([127, 0, 0, 1], 0).into(), &BindOptions::default()).unwrap();
        let client = TcpStream::connect(listener.local_addr()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        spawn(echo(server));
        let message = Bytes::from(vec![1; 4096]);
        let mut list = SendList::new();
        for _ in 0..WARM_UP_ROUNDS {
            list = echo_round(&client, &message, list).await;
        }
        let before = of_this_thread();
        for _ in 0..ROUNDS {
            list = echo_round(&client, &message, list).await;
        }
        assert_eq!(of_this_thread() - before, 0);
    })
    .unwrap();
}

#[test]
fn reads_of_a_file_allocate_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 65_536]).unwrap();
    let path = file.path().to_owned();
    run(Config::default(), async move {
        let file = Rc::new(File::open(path, OpenOptions::default()).unwrap());
        let read = async |offset: u64| {
            let (result, buf) = file.read_at(offset, AlignedBuf::stale(4096)).await;
            assert_eq!((result.unwrap(), buf[0]), (4096, 7));
        };
        for _ in 0..WARM_UP_ROUNDS {
            read(0).await;
        }
        let before = of_this_thread();
        for round in 0..ROUNDS {
            read(round as u64 % 16 * 4096).await;
        }
        assert_eq!(of_this_thread() - before, 0);
    })
    .unwrap();
}
