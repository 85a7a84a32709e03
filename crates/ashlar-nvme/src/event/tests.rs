use super::AsyncEvent;

#[test]
fn golden_results() {
    assert_eq!(AsyncEvent::NAMESPACE_CHANGED.result(), 0x0004_0002);
    assert_eq!(AsyncEvent::DISCOVERY_CHANGED.result(), 0x0070_f002);
    assert_eq!(AsyncEvent::SPARE_LOW.result(), 0x0002_0201);
    assert_eq!(AsyncEvent::from_result(0x0070_f002), Some(AsyncEvent::DISCOVERY_CHANGED));
    assert_eq!(AsyncEvent::from_result(7), None);
}
