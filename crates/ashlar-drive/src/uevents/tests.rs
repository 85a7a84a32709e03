use super::*;

fn message(properties: &[&str]) -> Vec<u8> {
    properties.iter().flat_map(|text| text.bytes().chain([0])).collect()
}

/// As udev sends it: a header of forty bytes before the properties.
fn udev_message(properties: &[&str]) -> Vec<u8> {
    let mut header = b"libudev\0\xfe\xed\xca\xfe".to_vec();
    for word in [40u32, 40, 100, 0, 0, 0, 0] {
        header.extend(word.to_ne_bytes());
    }
    assert_eq!(header.len(), 40);
    [header, message(properties)].concat()
}

#[test]
fn a_message_names_its_block_device_whoever_sends_it() {
    let disk = ["ACTION=add", "SUBSYSTEM=block", "MAJOR=7", "MINOR=3", "DEVNAME=loop3"];
    let wanted = Some(DeviceNumber { major: 7, minor: 3 });
    let from_kernel = message(&[&["add@/devices/virtual/block/loop3"][..], &disk].concat());
    assert_eq!(changed_device(&from_kernel), wanted);
    assert_eq!(changed_device(&udev_message(&disk)), wanted);
}

#[test]
fn other_messages_and_garbage_name_none() {
    let usb = message(&["add@/devices/usb", "SUBSYSTEM=usb", "MAJOR=189", "MINOR=1"]);
    let without_number = message(&["SUBSYSTEM=block", "MAJOR=7"]);
    let mut far = udev_message(&["SUBSYSTEM=block", "MAJOR=7", "MINOR=3"]);
    far[16..20].copy_from_slice(&u32::MAX.to_ne_bytes());
    for message in [&usb[..], &without_number, &far, b"", b"libudev\0", &[0xff; 64]] {
        assert_eq!(changed_device(message), None, "{message:?}");
    }
}

#[test]
fn nothing_is_waited_for() {
    let Ok(uevents) = Uevents::listen() else { return };
    let _ = uevents.take();
    assert!(!uevents.take().were_lost);
}
