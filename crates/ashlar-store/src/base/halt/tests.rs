use futures_util::FutureExt;

use super::*;

#[test]
fn the_first_reason_stays_unless_one_comes_before_all_others() {
    let halt = Halt::default();
    assert!(halt.check().is_ok() && halt.why().is_none());
    assert!(halt.begin("one".to_owned()));
    assert!(!halt.begin("two".to_owned()));
    assert_eq!(halt.why().as_deref(), Some("one"));
    halt.overrule("three".to_owned());
    assert_eq!(halt.check().expect_err("it has halted").reason().to_string(), "three");
}

#[test]
fn who_waits_hears_of_a_halt_and_of_the_end() {
    let halt = Halt::default();
    let (mut halted, mut closed) = (Box::pin(halt.wait()), Box::pin(halt.closed()));
    assert!(halted.as_mut().now_or_never().is_none() && closed.as_mut().now_or_never().is_none());
    halt.begin("one".to_owned());
    assert!(halted.now_or_never().is_some());
    assert!(closed.as_mut().now_or_never().is_none());
    halt.close();
    assert!(closed.now_or_never().is_some() && halt.is_closed());
    assert_eq!(halt.why().as_deref(), Some("one"));
}

#[test]
fn a_pool_that_is_closed_takes_no_writes() {
    let halt = Halt::default();
    halt.close();
    assert!(halt.check().is_err());
}
