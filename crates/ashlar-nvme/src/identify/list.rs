use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::IDENTIFY_BYTES;

/// Most namespaces of one list.
pub const NAMESPACE_LIST_MAX: usize = 1024;
/// Most controllers of one list.
pub const CONTROLLER_LIST_MAX: usize = 2047;

/// A namespace list: the first 1,024 identifiers, zero-filled. The caller gives them in increasing
/// order.
pub fn namespace_list(nsids: impl IntoIterator<Item = u32>) -> [u8; IDENTIFY_BYTES] {
    let mut list = [U32::ZERO; NAMESPACE_LIST_MAX];
    list.iter_mut().zip(nsids).for_each(|(slot, nsid)| *slot = nsid.into());
    zerocopy::transmute!(list)
}

/// The identifiers of a namespace list.
pub fn namespaces_of_list(list: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let nsids =
        list.chunks_exact(4).map(|raw| u32::from_le_bytes(raw.try_into().expect("four bytes")));
    nsids.take_while(|nsid| *nsid != 0)
}

/// A controller list: a count and the first 2,047 identifiers. The caller gives them in increasing
/// order.
pub fn controller_list(ids: impl IntoIterator<Item = u16>) -> [u8; IDENTIFY_BYTES] {
    counted_list(ids)
}

/// An endurance group list: a count and the first 2,047 identifiers. The caller gives them in
/// increasing order.
pub fn endurance_group_list(ids: impl IntoIterator<Item = u16>) -> [u8; IDENTIFY_BYTES] {
    counted_list(ids)
}

fn counted_list(ids: impl IntoIterator<Item = u16>) -> [u8; IDENTIFY_BYTES] {
    let mut list = [U16::ZERO; IDENTIFY_BYTES / size_of::<U16>()];
    let mut count = 0;
    for (slot, id) in list[1..].iter_mut().zip(ids) {
        *slot = id.into();
        count += 1;
    }
    list[0] = count.into();
    zerocopy::transmute!(list)
}

/// The data of CNS 1Ch: vectors of command sets that can be enabled together. There is one: the NVM
/// command set alone.
pub fn command_set_vectors() -> [u8; IDENTIFY_BYTES] {
    let mut vectors = [0; IDENTIFY_BYTES];
    vectors[0] = 1;
    vectors
}

/// A namespace identification descriptor (CNS 03h).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamespaceDescriptor {
    /// NIDT 1: EUI-64.
    Eui64([u8; 8]),
    /// NIDT 2: NGUID.
    Nguid([u8; 16]),
    /// NIDT 3: UUID.
    Uuid([u8; 16]),
    /// NIDT 4: command set identifier.
    CommandSet(u8),
}

impl NamespaceDescriptor {
    fn kind(&self) -> u8 {
        match self {
            NamespaceDescriptor::Eui64(_) => 1,
            NamespaceDescriptor::Nguid(_) => 2,
            NamespaceDescriptor::Uuid(_) => 3,
            NamespaceDescriptor::CommandSet(_) => 4,
        }
    }

    fn value(&self) -> &[u8] {
        match self {
            NamespaceDescriptor::Eui64(value) => value,
            NamespaceDescriptor::Nguid(value) | NamespaceDescriptor::Uuid(value) => value,
            NamespaceDescriptor::CommandSet(value) => value.as_bytes(),
        }
    }

    fn of(kind: u8, value: &[u8]) -> Option<Self> {
        Some(match kind {
            1 => NamespaceDescriptor::Eui64(value.try_into().ok()?),
            2 => NamespaceDescriptor::Nguid(value.try_into().ok()?),
            3 => NamespaceDescriptor::Uuid(value.try_into().ok()?),
            4 => NamespaceDescriptor::CommandSet(*value.first()?),
            _ => return None,
        })
    }
}

/// Bytes of a descriptor's header: type, length, two reserved.
const DESCRIPTOR_HEADER_BYTES: usize = 4;

/// The data of CNS 03h.
pub fn descriptor_list(descriptors: &[NamespaceDescriptor]) -> [u8; IDENTIFY_BYTES] {
    let mut list = [0; IDENTIFY_BYTES];
    let mut at = 0;
    for descriptor in descriptors {
        let value = descriptor.value();
        list[at] = descriptor.kind();
        list[at + 1] = value.len() as u8;
        at += DESCRIPTOR_HEADER_BYTES;
        list[at..at + value.len()].copy_from_slice(value);
        at += value.len();
    }
    list
}

/// The descriptors in the data of CNS 03h that this crate knows.
pub fn parse_descriptors(list: &[u8]) -> Vec<NamespaceDescriptor> {
    let mut found = Vec::new();
    let mut rest = list;
    while let [kind, length, _, _, tail @ ..] = rest {
        if *length == 0 {
            break;
        }
        let Some((value, next)) = tail.split_at_checked(usize::from(*length)) else { break };
        found.extend(NamespaceDescriptor::of(*kind, value));
        rest = next;
    }
    found
}
