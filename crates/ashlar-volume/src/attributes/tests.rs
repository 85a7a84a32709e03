use super::*;
use crate::qos::Policy;

fn attributes() -> Attributes {
    let hosts = ["nqn.2014-08.org.example:a", "nqn.2014-08.org.example:b"];
    Attributes {
        name: "v0".parse().unwrap(),
        uuid: VolumeUuid([7; 16]),
        nsid: Nsid(3),
        lba_bytes: 512,
        access: AccessList::Allow(hosts.iter().map(|host| HostNqn::new(host).unwrap()).collect()),
        write_protected: true,
        made_at: 1_700_000_000,
        atomic: AtomicWrites::UpTo(16 << 10),
        erase: Some(EraseKind::Sanitize),
        is_sanitized: true,
        qos: VolumeQos::Named("gold".to_owned()),
        kept: Kept::default(),
        qos_kept: Kept::default(),
    }
}

#[test]
fn come_back_as_they_were() {
    let any = Attributes { access: AccessList::AllowAny, lba_bytes: 4096, ..attributes() };
    let off = Attributes { atomic: AtomicWrites::Off, ..attributes() };
    let most = Attributes { atomic: AtomicWrites::Most, ..attributes() };
    let wiped = Attributes { erase: Some(EraseKind::Wipe), ..attributes() };
    let whole = Attributes { erase: None, is_sanitized: false, ..attributes() };
    let free = Attributes { qos: VolumeQos::Unlimited, ..attributes() };
    let usual = Attributes { qos: VolumeQos::PoolDefault, ..attributes() };
    let policy = Policy { weight: 7, ..Policy::default() };
    let own = Attributes { qos: VolumeQos::Own(policy), ..attributes() };
    for attributes in [attributes(), any, off, most, wiped, whole, free, usual, own] {
        assert_eq!(Attributes::decode(&attributes.encode()), Ok(attributes));
    }
}

#[test]
fn cut_off_within_a_field_or_without_a_name_are_an_error() {
    let bytes = attributes().encode();
    let whole = |r: &mut Reader<'_>| Ok(r.bytes(r.rest().len()).map(|_| true)?);
    let ends = |len: &usize| take_fields(WHAT, &bytes[..*len], |_, r| whole(r)).is_ok();
    for len in (0..bytes.len()).filter(|len| !ends(len)) {
        assert!(Attributes::decode(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
    assert!(Attributes::decode(&[]).is_err());
}

#[test]
fn any_changed_byte_is_read_without_a_panic() {
    let bytes = attributes().encode();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let _ = Attributes::decode(&changed);
        }
    }
}

#[test]
fn what_a_newer_version_has_added_is_kept_or_refused() {
    let with = |tag: u16| {
        let mut w = Writer(attributes().encode());
        put_field(&mut w, tag, |w| w.bytes(b"later"));
        w.0
    };
    let read = Attributes::decode(&with(50)).expect("it can be passed over");
    assert_eq!(read.encode(), with(50));
    assert_eq!(Attributes { kept: Kept::default(), ..read }, attributes());
    let refused = Attributes::decode(&with(CRITICAL | 50)).expect_err("it cannot");
    assert_eq!(refused, FieldsError::Unknown { what: WHAT, tag: 50 });
}

#[test]
fn an_own_policy_that_a_newer_version_has_made_is_kept() {
    let with = |tag: u16| {
        let mut w = Writer(Attributes { qos: VolumeQos::PoolDefault, ..attributes() }.encode());
        put_field(&mut w, 13, |w| {
            put_policy(w, &Policy { weight: 7, ..Policy::default() });
            put_field(w, tag, |w| w.bytes(b"later"));
            w
        });
        w.0
    };
    let known = Attributes::decode(&with(50)).expect("it can be passed over");
    assert!(matches!(known.qos, VolumeQos::Own(Policy { weight: 7, .. })));
    assert_eq!(known.encode(), with(50));
    let unknown = Attributes::decode(&with(CRITICAL | 50)).expect("it limits nobody");
    assert_eq!(unknown.qos, VolumeQos::PoolDefault);
    assert_eq!(unknown.encode(), with(CRITICAL | 50));
    // What is chosen in its place is not undone by the version that understands it.
    let named = VolumeQos::Named("gold".to_owned());
    for qos in [named, VolumeQos::Unlimited, VolumeQos::PoolDefault] {
        let chosen = unknown.clone().with_qos(qos);
        assert!(!chosen.has_other_policy() && unknown.has_other_policy());
        assert_eq!(Attributes::decode(&chosen.encode()), Ok(chosen));
    }
    let chosen = known.with_qos(VolumeQos::Unlimited);
    assert_eq!(chosen.qos_kept, Kept::default());
}

/// Fuzzing has found attributes with both choices: what was kept of the first was in memory alone.
#[test]
fn of_two_choices_the_last_one_stands_and_nothing_is_kept_of_the_first() {
    let mut w = Writer(Attributes { qos: VolumeQos::PoolDefault, ..attributes() }.encode());
    put_field(&mut w, 13, |w| {
        put_policy(w, &Policy { weight: 7, ..Policy::default() });
        put_field(w, 50, |w| w.bytes(b"later"));
        w
    });
    put_field(&mut w, 12, |w| w.bytes(b"gold"));
    let read = Attributes::decode(&w.0).expect("both can be read");
    assert_eq!(read.qos, VolumeQos::Named("gold".to_owned()));
    assert_eq!(Attributes::decode(&read.encode()), Ok(read));
}

#[test]
fn a_volume_is_served_whatever_its_own_policy_says() {
    let with = |value: &[u8]| {
        let mut w = Writer(Attributes { qos: VolumeQos::PoolDefault, ..attributes() }.encode());
        put_field(&mut w, 13, |w| w.bytes(value));
        w.0
    };
    let mut heavy = Writer::default();
    put_policy(&mut heavy, &Policy { weight: u16::MAX, ..Policy::default() });
    for value in [&heavy.0[..], b"cut off"] {
        let read = Attributes::decode(&with(value)).expect("it can be served");
        assert_eq!(read.encode(), with(value));
        assert_eq!(read.qos, VolumeQos::PoolDefault);
    }
}
