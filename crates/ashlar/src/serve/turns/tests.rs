use std::sync::Arc;

use super::*;

/// A daemon that was told to stop while clients waited to make pools closed all pools, and made
/// theirs then.
#[test]
fn whoever_waits_when_the_turns_end_gets_none() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let turns = Arc::new(Turns::default());
        let first = turns.next().await.expect("nobody else has it");
        let waiting = [(); 3].map(|()| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.next().await.map(drop) })
        });
        tokio::task::yield_now().await;
        let ending = tokio::spawn({
            let turns = turns.clone();
            async move { turns.end().await }
        });
        tokio::task::yield_now().await;
        assert!(!ending.is_finished(), "a change is under way");
        drop(first);
        ending.await.expect("it ends");
        for waiting in waiting {
            assert_eq!(waiting.await.expect("it ends"), Err(Over));
        }
        assert!(turns.next().await.is_err());
    });
}
