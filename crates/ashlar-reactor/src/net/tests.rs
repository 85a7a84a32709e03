use std::net::SocketAddr;

use bytes::Bytes;

use crate::net::{BindOptions, SendList, TcpListener, TcpStream};
use crate::{Config, run};

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
        let list = ["two ", "pieces"].into_iter().map(|text| Bytes::from_static(text.as_bytes())).collect();
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
