use super::*;

const TARGET: Duration = Duration::from_millis(2);

/// What is left of a latency of 2 ms after the change.
fn p99_after(change: SettingsChange) -> Option<Duration> {
    change.of(Settings { recon_p99: Some(TARGET), ..Settings::default() }).recon_p99
}

#[test]
fn a_priority_takes_the_place_of_a_latency_unless_both_are_given() {
    let priority = SettingsChange { recon_prio: Some(100), ..SettingsChange::default() };
    assert_eq!(p99_after(priority), None);
    let longer = Some(Duration::from_millis(5));
    assert_eq!(p99_after(SettingsChange { recon_p99: Some(longer), ..priority }), longer);
    let other = SettingsChange { scrub_prio: Some(7), ..SettingsChange::default() };
    assert_eq!(p99_after(other), Some(TARGET));
}
