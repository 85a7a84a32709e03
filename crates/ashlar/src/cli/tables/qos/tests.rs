use super::*;

#[test]
fn whoever_sets_a_burst_sees_it_and_without_limits_there_is_none() {
    let limits = |iops_max| QosLimits { iops_max, burst_seconds: 2.5, ..QosLimits::default() };
    let said = |iops_max| {
        let (limits, source) = (limits(iops_max), "own".to_owned());
        let qos = VolumeQos { limits, source, weight: 100, ..VolumeQos::default() };
        let (pool, name) = ("tank".to_owned(), "v0".to_owned());
        limited(&Volume { pool, name, qos, ..Volume::default() })
    };
    let begin = "volume 'tank/v0' has a policy of its own now:";
    assert_eq!(said(Some(500)), format!("{begin} iops 500, burst 2.5 s, weight 100"));
    assert_eq!(said(None), format!("{begin} no limits, weight 100"));
}
