//! What the store keeps with a volume, as bytes to it: its name, its hosts.

use ashlar_block::VolumeUuid;
use ashlar_store::format::fields::Kept;
use ashlar_volume::{AccessList, AtomicWrites, Attributes, EraseKind, HostNqn, Nsid};

use super::replay::Seed;

/// Reads attributes.
pub fn check(input: &[u8]) {
    let Ok(attributes) = Attributes::decode(input) else { return };
    let hosts = match &attributes.access {
        AccessList::AllowAny => 0,
        AccessList::Allow(hosts) => hosts.iter().map(|host| 6 + host.as_str().len()).sum(),
    };
    let bytes = attributes.name.as_str().len() + hosts;
    assert!(bytes <= input.len(), "{bytes} bytes of names out of {}", input.len());
    assert_eq!(Attributes::decode(&attributes.encode()), Ok(attributes));
}

/// Attributes with hosts, without any, and for every host.
pub fn seeds() -> Vec<Seed> {
    let host = |name| HostNqn::new(name).expect("a host's name");
    let hosts = [host("nqn.2014-08.org.example:a"), host("nqn.2014-08.org.example:b")];
    let mut attributes = Attributes {
        name: "v0".parse().expect("a volume's name"),
        uuid: VolumeUuid([7; 16]),
        nsid: Nsid(3),
        lba_bytes: 512,
        access: AccessList::Allow(hosts.into()),
        write_protected: true,
        made_at: 1_700_000_000,
        atomic: AtomicWrites::UpTo(16 << 10),
        erase: Some(EraseKind::Sanitize),
        is_sanitized: true,
        qos: Default::default(),
        qos_kept: Default::default(),
        kept: Kept::default(),
    };
    let some = attributes.encode();
    attributes.access = AccessList::Allow([].into());
    let none = attributes.encode();
    (attributes.access, attributes.lba_bytes) = (AccessList::AllowAny, 4096);
    vec![("hosts", some), ("nobody", none), ("everybody", attributes.encode())]
}
