use super::*;

#[test]
fn a_connection_keeps_its_share_while_enough_is_left_for_others() {
    assert!(may_hold(0, 4, 16, 16));
    assert!(may_hold(3, 4, 4, 16));
    assert!(!may_hold(4, 4, 16, 16), "its share is used up");
    assert!(!may_hold(0, 4, 3, 16), "the last quarter is for receiving");
}

#[test]
fn after_a_payload_small_messages_lead_back_to_multishot() {
    let mut mode = Mode::Multishot.after_payload();
    for _ in 1..CHUNKS_UNTIL_MULTISHOT {
        mode = mode.after_chunk();
        assert_ne!(mode, Mode::Multishot);
    }
    assert_eq!(mode.after_chunk(), Mode::Multishot);
    assert_eq!(Mode::Multishot.after_chunk(), Mode::Multishot);
}
