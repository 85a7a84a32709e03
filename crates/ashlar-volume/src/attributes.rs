//! What a volume is beyond its blocks, as it lies in the store's catalog.

use std::collections::BTreeSet;

use ashlar_block::VolumeUuid;

use crate::door::{AccessList, HostNqn, Nsid};
use crate::name::VolumeName;

/// The version that this code writes.
const VERSION: u8 = 1;
const WRITE_PROTECTED: u8 = 1 << 0;
const ALLOW_ANY: u8 = 1 << 1;

/// Hosts of one volume's access list, at most.
pub const HOSTS_MAX: usize = 256;

/// A volume's attributes. What the store keeps, versioned; integers are little-endian:
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 1 | version: 1 |
/// | 1 | 1 | flags: bit 0 write protected, bit 1 every host may see it |
/// | 2 | 1 | log2 of the sector size that hosts see: 9 or 12 |
/// | 3 | 1 | zero |
/// | 4 | 4 | namespace number |
/// | 8 | 16 | UUID |
/// | 24 | 8 | made at, Unix seconds |
/// | 32 | 1 + n | name |
/// | … | 2 | hosts |
/// | … | each 1 + n | host NQN |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// Unique in its pool.
    pub name: VolumeName,
    /// For ever.
    pub uuid: VolumeUuid,
    /// Unique in its node.
    pub nsid: Nsid,
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// Who may see it.
    pub access: AccessList,
    /// NVMe namespace write protection.
    pub write_protected: bool,
    /// Unix seconds.
    pub made_at: u64,
}

/// Why bytes are not attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedAttributes {
    /// Written by a newer Ashlar.
    #[error("attributes of version {0}, and this Ashlar knows version {VERSION}: use a newer Ashlar")]
    Version(u8),
    /// Cut off, or a value that cannot be.
    #[error("{0} is missing or not valid")]
    Field(&'static str),
}

impl Attributes {
    /// The bytes for the store.
    pub fn encode(&self) -> Vec<u8> {
        let any = if self.access == AccessList::AllowAny { ALLOW_ANY } else { 0 };
        let flags = if self.write_protected { WRITE_PROTECTED | any } else { any };
        let mut bytes = vec![VERSION, flags, self.lba_bytes.trailing_zeros() as u8, 0];
        bytes.extend(self.nsid.0.to_le_bytes());
        bytes.extend(self.uuid.0);
        bytes.extend(self.made_at.to_le_bytes());
        put_text(&mut bytes, self.name.as_str());
        let none = BTreeSet::new();
        let hosts = if let AccessList::Allow(hosts) = &self.access { hosts } else { &none };
        bytes.extend((hosts.len() as u16).to_le_bytes());
        hosts.iter().for_each(|host| put_text(&mut bytes, host.as_str()));
        bytes
    }

    /// The attributes that `bytes` hold. Whatever they hold, this returns.
    pub fn decode(bytes: &[u8]) -> Result<Self, MalformedAttributes> {
        let mut reader = Reader(bytes);
        match reader.take::<1>("version")? {
            [VERSION] => {}
            [version] => return Err(MalformedAttributes::Version(version)),
        }
        let [flags, lba_shift, _] = reader.take("flags")?;
        let nsid = Nsid(u32::from_le_bytes(reader.take("namespace number")?));
        let uuid = VolumeUuid(reader.take("UUID")?);
        let made_at = u64::from_le_bytes(reader.take("time")?);
        let name = reader.text("name")?.parse().map_err(|_| MalformedAttributes::Field("name"))?;
        let hosts = reader.hosts()?;
        if !matches!(lba_shift, 9 | 12) || matches!(nsid.0, 0 | u32::MAX) {
            return Err(MalformedAttributes::Field("sector size or namespace number"));
        }
        let access = if flags & ALLOW_ANY != 0 { AccessList::AllowAny } else { AccessList::Allow(hosts) };
        let write_protected = flags & WRITE_PROTECTED != 0;
        Ok(Attributes { name, uuid, nsid, lba_bytes: 1 << lba_shift, access, write_protected, made_at })
    }
}

/// A length of at most 255 and the text: names and NQNs are bounded below that.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend(text.as_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], MalformedAttributes> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(MalformedAttributes::Field(field))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn text(&mut self, field: &'static str) -> Result<&'a str, MalformedAttributes> {
        let [len] = self.take(field)?;
        let split = self.0.split_at_checked(usize::from(len));
        let (text, rest) = split.ok_or(MalformedAttributes::Field(field))?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| MalformedAttributes::Field(field))
    }

    fn hosts(&mut self) -> Result<BTreeSet<HostNqn>, MalformedAttributes> {
        let count = u16::from_le_bytes(self.take("host count")?);
        let host = |_| HostNqn::new(self.text("host")?).map_err(|_| MalformedAttributes::Field("host"));
        (0..count).map(host).collect()
    }
}

#[cfg(test)]
mod tests;
