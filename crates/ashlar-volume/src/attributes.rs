//! What a volume is beyond its blocks, as it lies in the store's catalog.

use std::collections::BTreeSet;

use ashlar_block::VolumeUuid;
use ashlar_store::format::codec::{Malformed, Reader, Writer};
use ashlar_store::format::fields::{CRITICAL, FieldsError, Kept, put_field, put_kept, take_fields};

use crate::atomic::AtomicWrites;
use crate::door::{AccessList, HostNqn, Nsid};
use crate::name::VolumeName;
use crate::qos::VolumeQos;
use crate::qos::codec::{put_policy, take_own};

const WHAT: &str = "volume's attributes";

/// Hosts of one volume's access list, at most.
pub const HOSTS_MAX: usize = 256;

/// A volume's attributes. The store keeps them as tagged fields:
///
/// | tag | bytes | field |
/// |---|---|---|
/// | 1 | 1 … 255 | name |
/// | 2 | 16 | UUID |
/// | 3 | 4 | namespace number |
/// | 4 | 1 | log2 of the sector size that hosts see: 9 or 12; 12 if it is not there |
/// | 5 | 8 | made at, Unix seconds |
/// | 6 | 1 | 1: every host may see it |
/// | 7 | 1 | 1: write protected |
/// | 8 | 1 … 223 | NQN of a host that may see it; once for each |
/// | 9 | 4 | most bytes that hosts are told are atomic, 0 for none; absent: all that are |
/// | 10, critical | 1 | an erase goes on, nothing is read before its end: 1 wipe, 2 Sanitize |
/// | 11 | 1 | 1: the last Sanitize of it is done |
/// | 12 | 0 … 64 | name of its policy, empty for none; absent with 13: the default of its pool |
/// | 13 | … | a policy of its own, as the pool's are (`qos/codec.rs`) |
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
    /// What hosts are told of the atomicity of writes.
    pub atomic: AtomicWrites,
    /// An erase that goes on: a start goes on with it.
    pub erase: Option<EraseKind>,
    /// A host has had it sanitized.
    pub is_sanitized: bool,
    /// What an operator has said of what it may take.
    pub qos: VolumeQos,
    /// What a newer version has added.
    pub kept: Kept,
    /// What a newer version has added to a policy of its own.
    pub qos_kept: Kept,
}

/// Who must not pass over it: who does not know it would serve what is to be gone.
const ERASE: u16 = CRITICAL | 10;

/// A policy of its own.
const OWN_POLICY: u16 = 13;

/// Why a volume is being erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EraseKind {
    /// A Format with a secure erase, or an operator's wipe.
    Wipe = 1,
    /// A host has all that it sees sanitized.
    Sanitize = 2,
}

/// What has been read so far.
#[derive(Default)]
struct Read {
    name: Option<VolumeName>,
    uuid: Option<VolumeUuid>,
    nsid: Option<Nsid>,
    lba_shift: Option<u8>,
    made_at: u64,
    any_host: bool,
    write_protected: bool,
    hosts: BTreeSet<HostNqn>,
    atomic: AtomicWrites,
    erase: Option<EraseKind>,
    is_sanitized: bool,
    qos: VolumeQos,
    qos_kept: Kept,
}

impl Attributes {
    /// The bytes for the store.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        put_field(&mut w, 1, |w| w.bytes(self.name.as_str().as_bytes()));
        put_field(&mut w, 2, |w| w.bytes(&self.uuid.0));
        put_field(&mut w, 3, |w| w.u32(self.nsid.0));
        put_field(&mut w, 4, |w| w.u8(self.lba_bytes.trailing_zeros() as u8));
        put_field(&mut w, 5, |w| w.u64(self.made_at));
        put_field(&mut w, 6, |w| w.u8(u8::from(self.access == AccessList::AllowAny)));
        put_field(&mut w, 7, |w| w.u8(u8::from(self.write_protected)));
        if let AccessList::Allow(hosts) = &self.access {
            hosts
                .iter()
                .for_each(|host| put_field(&mut w, 8, |w| w.bytes(host.as_str().as_bytes())));
        }
        if let Some(bytes) = self.atomic.stored() {
            put_field(&mut w, 9, |w| w.u32(bytes));
        }
        if let Some(kind) = self.erase {
            put_field(&mut w, ERASE, |w| w.u8(kind as u8));
        }
        if self.is_sanitized {
            put_field(&mut w, 11, |w| w.u8(1));
        }
        self.put_qos(&mut w);
        put_kept(&mut w, &self.kept);
        w.0
    }

    fn put_qos(&self, w: &mut Writer) {
        match &self.qos {
            VolumeQos::PoolDefault => {}
            VolumeQos::Unlimited => put_field(w, 12, |w| w),
            VolumeQos::Named(name) => put_field(w, 12, |w| w.bytes(name.as_bytes())),
            VolumeQos::Own(policy) => put_field(w, OWN_POLICY, |w| {
                put_policy(w, policy);
                put_kept(w, &self.qos_kept);
                w
            }),
        }
    }

    /// Whether it has a policy of its own that this version does not understand.
    pub fn has_other_policy(&self) -> bool {
        self.kept.has(OWN_POLICY)
    }

    /// The same with another choice of what it may take, in place of whatever was chosen before,
    /// also of what only a newer version understands.
    #[must_use]
    pub fn with_qos(mut self, qos: VolumeQos) -> Self {
        self.kept.forget(OWN_POLICY);
        if !matches!(qos, VolumeQos::Own(_)) {
            self.qos_kept = Kept::default();
        }
        self.qos = qos;
        self
    }

    /// The attributes that `bytes` hold. Whatever they hold, this returns.
    ///
    /// # Errors
    /// They are cut off, say what cannot be, or what only a newer version understands.
    pub fn decode(bytes: &[u8]) -> Result<Self, FieldsError> {
        let mut read = Read::default();
        let kept = take_fields(WHAT, bytes, |tag, r| read.take(tag, r))?;
        let missing = Malformed { what: WHAT };
        let lba_shift = read.lba_shift.unwrap_or(12);
        Ok(Attributes {
            name: read.name.ok_or(missing)?,
            uuid: read.uuid.ok_or(missing)?,
            nsid: read.nsid.ok_or(missing)?,
            lba_bytes: 1 << lba_shift,
            access: if read.any_host {
                AccessList::AllowAny
            } else {
                AccessList::Allow(read.hosts)
            },
            write_protected: read.write_protected,
            made_at: read.made_at,
            atomic: read.atomic,
            erase: read.erase,
            is_sanitized: read.is_sanitized,
            qos: read.qos,
            kept,
            qos_kept: read.qos_kept,
        })
    }
}

impl Read {
    fn take(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        match tag {
            1 => self.name = Some(text(r)?.parse().map_err(|_| r.malformed())?),
            2 => self.uuid = Some(VolumeUuid(r.array()?)),
            3 => self.nsid = Some(Nsid(r.u32()?)).filter(|nsid| !matches!(nsid.0, 0 | u32::MAX)),
            4 => self.lba_shift = Some(one_of(r, &[9, 12])?),
            5 => self.made_at = r.u64()?,
            6 => self.any_host = one_of(r, &[0, 1])? == 1,
            7 => self.write_protected = one_of(r, &[0, 1])? == 1,
            8 => {
                let host = HostNqn::new(text(r)?).map_err(|_| r.malformed())?;
                self.hosts.insert(host);
            }
            9 => {
                let bytes = r.u32()?.into();
                self.atomic = AtomicWrites::new(bytes).map_err(|_| r.malformed())?;
            }
            ERASE => {
                let kinds = [EraseKind::Wipe, EraseKind::Sanitize];
                self.erase = Some(kinds[usize::from(one_of(r, &[1, 2])?) - 1]);
            }
            11 => self.is_sanitized = one_of(r, &[0, 1])? == 1,
            12 => {
                let named = |name: &str| VolumeQos::Named(name.to_owned());
                let name = Some(text(r)?).filter(|name| !name.is_empty());
                (self.qos, self.qos_kept) =
                    (name.map_or(VolumeQos::Unlimited, named), Kept::default());
            }
            OWN_POLICY => match take_own(r.bytes(r.rest().len())?) {
                Ok(Some((policy, kept))) => {
                    (self.qos, self.qos_kept) = (VolumeQos::Own(policy), kept);
                }
                // It is kept as a field that nobody knows. Nothing of it is worth not to serve the
                // volume for.
                Ok(None) | Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn text<'a>(r: &mut Reader<'a>) -> Result<&'a str, Malformed> {
    let bytes = r.bytes(r.rest().len())?;
    std::str::from_utf8(bytes).map_err(|_| r.malformed())
}

fn one_of(r: &mut Reader<'_>, values: &[u8]) -> Result<u8, Malformed> {
    let value = r.u8()?;
    if values.contains(&value) { Ok(value) } else { Err(r.malformed()) }
}

#[cfg(test)]
mod tests;
