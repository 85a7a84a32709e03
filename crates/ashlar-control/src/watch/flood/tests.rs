use super::*;

const EVENTS_MAX: u32 = 64;
const INTERVAL: Duration = Duration::from_secs(10);

#[test]
fn a_flood_is_told_up_to_a_bound_and_then_counted() {
    let (mut flood, start) = (Flood::new(EVENTS_MAX, INTERVAL), Instant::now());
    assert_eq!(flood.take_untold(start), 0);
    let told = (0..1000).filter(|_| flood.admits(start)).count();
    assert_eq!(told, EVENTS_MAX as usize);
    assert_eq!(flood.take_untold(start + INTERVAL / 2), 0, "its interval goes on");
    assert_eq!(flood.take_untold(start + INTERVAL), 1000 - u64::from(EVENTS_MAX));
    assert_eq!(flood.take_untold(start + INTERVAL), 0);
    assert!(flood.admits(start + INTERVAL));
}
