use super::*;

const LONGEST: Duration = Duration::from_micros(50);

#[test]
fn a_reactor_without_work_soon_stops_spinning() {
    let mut spin = Spin::new(LONGEST);
    for _ in 0..6 {
        spin.missed();
        spin.slept(Duration::from_secs(1));
    }
    assert_eq!(spin.duration(), Duration::ZERO);
}

#[test]
fn short_sleeps_start_the_spinning_again() {
    let mut spin = Spin::new(LONGEST);
    (0..6).for_each(|_| spin.missed());
    spin.slept(LONGEST / 2);
    assert_eq!(spin.duration(), LONGEST);
}

#[test]
fn spinning_never_exceeds_its_bound() {
    let mut spin = Spin::new(LONGEST);
    spin.missed();
    (0..6).for_each(|_| spin.hit());
    assert_eq!(spin.duration(), LONGEST);
}

#[test]
fn zero_never_spins() {
    let mut spin = Spin::new(Duration::ZERO);
    spin.slept(Duration::ZERO);
    spin.hit();
    assert_eq!(spin.duration(), Duration::ZERO);
    assert!(!spin.enabled());
}
