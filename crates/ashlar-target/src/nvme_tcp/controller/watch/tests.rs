use ashlar_nvme::log::critical_warning::{READ_ONLY, RELIABILITY, SPARE};
use ashlar_volume::HealthFigures;

use super::{changed, lasting};

#[test]
fn added_removed_and_changed_namespaces_are_found() {
    let before = [(1, 10), (2, 20), (3, 30)].into();
    let after = [(1, 10), (3, 31), (4, 40)].into();
    assert_eq!(changed(&before, &after), [2, 3, 4]);
    assert!(changed(&after, &after).is_empty());
}

#[test]
fn a_spare_at_its_threshold_is_low_until_it_is_well_above() {
    let health = |spare_percent| HealthFigures {
        spare_percent,
        spare_threshold_percent: 10,
        degraded: true,
        ..HealthFigures::default()
    };
    assert_eq!(lasting(0, &health(10)), RELIABILITY);
    assert_eq!(lasting(0, &health(9)), SPARE | RELIABILITY);
    assert_eq!(
        lasting(SPARE | READ_ONLY, &health(11)),
        SPARE | RELIABILITY,
        "the spare alone lasts"
    );
    assert_eq!(lasting(SPARE, &health(12)), RELIABILITY);
    let full = HealthFigures { spare_threshold_percent: 100, ..health(100) };
    assert_eq!(lasting(SPARE, &full), RELIABILITY);
}
