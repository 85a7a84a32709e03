use super::*;

fn at(millis: u64) -> Nanos {
    Nanos(millis * 1_000_000)
}

#[test]
fn is_over_once_all_that_there_was_has_ended_many_times_but_lasts_no_longer_than_is_of_use() {
    let mut window = Window::new(at(1000));
    assert!(!window.is_over(at(1250)), "nothing says nothing");
    window.ended(4 << 20, 1 << 20);
    assert!(!window.is_over(at(1249)) && !window.is_over(at(5999)) && window.is_over(at(6000)));
    window.ended(12 << 20, 1 << 10);
    assert_eq!(window.peak(), 1 << 20);
    assert!(!window.is_over(at(1249)) && window.is_over(at(1250)));
}

#[test]
fn its_rate_is_what_has_ended_in_a_second() {
    let mut window = Window::new(at(1000));
    assert_eq!(window.rate(at(1000)), 0);
    window.ended(300, 1);
    assert_eq!(window.rate(at(1500)), 600);
}
