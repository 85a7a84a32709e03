use super::*;

const POOL: PoolUuid = PoolUuid([7; 16]);
const OTHER: PoolUuid = PoolUuid([8; 16]);

#[test]
fn work_that_does_not_panic_gives_its_value() {
    assert_eq!(contain(POOL, || 3), Ok(3));
}

#[test]
fn a_panic_comes_back_with_its_message() {
    let formatted = contain(POOL, || panic!("{} bytes too many", 4));
    let literal = contain(POOL, || panic!("a fixed text"));
    assert_eq!(formatted, Err(Panicked { text: "4 bytes too many".to_owned() }) as Result<(), _>);
    assert_eq!(literal, Err(Panicked { text: "a fixed text".to_owned() }) as Result<(), _>);
}

#[test]
fn the_pool_is_known_during_its_work_and_not_after_it() {
    assert_eq!(contained_pool(), None);
    let during = contain(POOL, || {
        let inner = contain(OTHER, contained_pool).unwrap();
        (inner, contained_pool())
    });
    assert_eq!(during, Ok((Some(OTHER), Some(POOL))));
    let _ = contain(POOL, || panic!("it ends"));
    assert_eq!(contained_pool(), None);
}

#[test]
fn the_first_panic_of_contained_work_is_caught_and_a_second_one_is_not() {
    assert!(!note_panic("outside of all work"));
    let noted =
        contain(POOL, || (note_panic("the first"), note_panic("while its values are dropped")));
    assert_eq!(noted, Ok((true, false)));
    assert!(!note_panic("after it"));
    TEXT.take();
}

#[test]
fn the_reason_is_what_the_hook_has_noted() {
    let text = "thread 'reactor-0' panicked at append.rs:7: no room";
    let told = contain(POOL, || {
        assert!(note_panic(text));
        panic!("no room");
    });
    assert_eq!(told, Err(Panicked { text: text.to_owned() }) as Result<(), _>);
}
