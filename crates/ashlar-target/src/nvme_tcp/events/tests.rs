use ashlar_nvme::event::AsyncEvent;

use super::{EventQueue, Events, is_enabled};

#[test]
fn an_event_is_told_once_until_its_page_is_read() {
    let mut queue = EventQueue::default();
    queue.add(AsyncEvent::NAMESPACE_CHANGED);
    queue.add(AsyncEvent::NAMESPACE_CHANGED);
    assert_eq!(queue.next(), Some(AsyncEvent::NAMESPACE_CHANGED));
    queue.add(AsyncEvent::NAMESPACE_CHANGED);
    queue.add(AsyncEvent::SPARE_LOW);
    assert_eq!(queue.next(), Some(AsyncEvent::SPARE_LOW), "another page's event is not held up");
    assert_eq!(queue.next(), None);
    queue.awaiting_read.remove(&AsyncEvent::NAMESPACE_CHANGED.log_page);
    assert_eq!(queue.next(), Some(AsyncEvent::NAMESPACE_CHANGED));
}

#[test]
fn only_what_is_configured_is_told() {
    assert!(is_enabled(AsyncEvent::NAMESPACE_CHANGED, 1 << 8));
    assert!(!is_enabled(AsyncEvent::NAMESPACE_CHANGED, 0xff));
    assert!(is_enabled(AsyncEvent::SPARE_LOW, 1));
    assert!(is_enabled(AsyncEvent::DISCOVERY_CHANGED, 1 << 31));
    assert!(!is_enabled(AsyncEvent::DISCOVERY_CHANGED, 1 << 8));
}

#[test]
fn too_many_changed_namespaces_are_told_as_all() {
    let mut events = Events::default();
    let many: Vec<u32> = (1..=1024).collect();
    events.namespaces_changed(&many, 0);
    assert_eq!(events.changed_namespaces(), many);
    events.namespaces_changed(&[5000], 0);
    assert_eq!(events.changed_namespaces(), [u32::MAX]);
    events.page_was_read(0x04);
    assert!(events.changed_namespaces().is_empty());
}
