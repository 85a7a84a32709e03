use std::sync::mpsc::channel;

use super::*;

const SOON: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn who_comes_while_work_hangs_waits_for_a_turn_and_begins_nothing() {
    let turns = OneByOne::new();
    let (go_on, waits) = channel::<()>();
    let (begun, begins) = channel();
    let hangs = begun.clone();
    let late = turns.run("test", SOON, move || {
        let _ = hangs.send("first");
        let _ = waits.recv();
    });
    assert_eq!(late.await.expect_err("it hangs").kind(), io::ErrorKind::TimedOut);
    let second = begun.clone();
    let late = turns.run("test", SOON, move || second.send("second").is_ok());
    assert_eq!(late.await.expect_err("no turn").kind(), io::ErrorKind::TimedOut);
    drop(go_on);
    turns.run("test", LONG, move || begun.send("third").is_ok()).await.expect("its turn");
    assert_eq!(begins.iter().collect::<Vec<_>>(), ["first", "third"]);
}
