use std::future::poll_fn;

use tokio::net::UnixStream;

use super::*;

const SOON: Duration = Duration::from_millis(100);
const NEVER: Duration = Duration::from_secs(3600);
/// More than a socket takes that nobody reads.
const MUCH: usize = 8 << 20;

async fn write(stream: &mut Deadline<UnixStream>, bytes: usize) -> io::Result<()> {
    let data = [0; 16 << 10];
    let mut left = bytes;
    while left > 0 {
        let part = &data[..left.min(data.len())];
        left -= poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, part)).await?;
    }
    poll_fn(|cx| Pin::new(&mut *stream).poll_flush(cx)).await
}

#[tokio::test]
async fn who_takes_nothing_is_given_up() {
    let (writer, _reader) = UnixStream::pair().unwrap();
    let error = write(&mut Deadline::of(writer, SOON), MUCH).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn who_takes_a_byte_now_and_then_is_given_up_as_well() {
    let (writer, reader) = UnixStream::pair().unwrap();
    let mut writer = Deadline::of(writer, SOON);
    let slow = async {
        loop {
            let _ = reader.try_read(&mut [0]);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let error = tokio::select! {
        written = write(&mut writer, MUCH) => written.unwrap_err(),
        () = slow => unreachable!("it has no end"),
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn who_takes_all_may_be_asked_nothing_for_as_long_as_they_like() {
    let (writer, reader) = UnixStream::pair().unwrap();
    let mut writer = Deadline::of(writer, NEVER);
    let read = async {
        let (mut all, mut data) = (0, vec![0; 64 << 10]);
        while all < MUCH {
            reader.readable().await.unwrap();
            all += reader.try_read(&mut data).unwrap_or(0);
        }
    };
    let ((), written) = tokio::join!(read, write(&mut writer, MUCH));
    written.unwrap();
    assert!(writer.waiting.is_none());
}
