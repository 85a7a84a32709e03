use super::*;

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
    }
}

#[test]
fn come_back_as_they_were() {
    let any = Attributes { access: AccessList::AllowAny, lba_bytes: 4096, ..attributes() };
    for attributes in [attributes(), any] {
        assert_eq!(Attributes::decode(&attributes.encode()), Ok(attributes));
    }
}

#[test]
fn cut_off_anywhere_are_an_error() {
    let bytes = attributes().encode();
    for len in 0..bytes.len() {
        assert!(Attributes::decode(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
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
fn of_a_newer_version_are_named_so() {
    let mut bytes = attributes().encode();
    bytes[0] = 2;
    assert_eq!(Attributes::decode(&bytes), Err(MalformedAttributes::Version(2)));
}
