use super::*;

fn locks(turns: &PoolTurns) -> usize {
    turns.0.lock().unwrap().len()
}

#[tokio::test]
async fn a_change_with_a_precondition_has_the_pool_for_itself_and_no_other_pool() {
    let turns = PoolTurns::default();
    let alone = turns.lock("a").write_owned().await;
    assert!(turns.lock("a").try_read_owned().is_err(), "somebody changes it");
    assert!(turns.lock("b").try_read_owned().is_ok(), "another pool is free");
    drop(alone);
    let shared = turns.lock("a").read_owned().await;
    assert!(turns.lock("a").try_read_owned().is_ok(), "all others share it");
    assert!(turns.lock("a").try_write_owned().is_err());
    drop(shared);
}

#[tokio::test]
async fn locks_of_pools_that_nobody_changes_are_forgotten() {
    let turns = PoolTurns::default();
    let held = turns.lock("a").read_owned().await;
    drop(turns.lock("b"));
    drop(turns.lock("c"));
    assert_eq!(locks(&turns), 2, "that of a is held, that of c is the last one");
    drop(held);
    drop(turns.lock("d"));
    assert_eq!(locks(&turns), 1);
}
