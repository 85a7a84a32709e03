use super::{FeatureCapabilities, HostBehavior, QueueCounts};

#[test]
fn queue_counts_are_zero_based_on_the_wire() {
    let counts = QueueCounts { submission: 4, completion: 8 };
    assert_eq!(counts.bits(), 0x0007_0003);
    assert_eq!(QueueCounts::from_bits(0x0007_0003), Some(counts));
    assert_eq!(QueueCounts::from_bits(0x0000_ffff), None);
    assert_eq!(QueueCounts::from_bits(0xffff_0000), None);
}

#[test]
fn golden_capabilities() {
    let capabilities =
        FeatureCapabilities { saveable: true, namespace_specific: false, changeable: true };
    assert_eq!(capabilities.bits(), 0b101);
}

#[test]
fn host_behavior_has_512_bytes() {
    assert_eq!(size_of::<HostBehavior>(), 512);
}
