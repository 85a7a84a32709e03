//! What a pool uses that not every version knows.
//!
//! Three words of bits in the superblock, and the name of each bit that is set: so a version that
//! does not know a bit can say what it does not know. The scheme is that of ext4 and of ZFS's
//! feature flags.

use std::fmt;

use crate::codec::{Malformed, Reader, Writer};

/// Longest name of a feature, in bytes.
pub const FEATURE_NAME_BYTES_MAX: usize = 31;
/// Bytes of features that a superblock has room for.
pub(crate) const FEATURES_BYTES_MAX: usize = 1024;

/// What becomes of a pool in the hands of a version that does not know a feature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FeatureKind {
    /// It may read and write the pool all the same.
    Compatible,
    /// It may only read it. This version cannot do that: it refuses the pool.
    ReadOnlyCompatible,
    /// It may not open it.
    Incompatible,
}

impl FeatureKind {
    const ALL: [FeatureKind; 3] =
        [FeatureKind::Compatible, FeatureKind::ReadOnlyCompatible, FeatureKind::Incompatible];
}

/// A feature that is in use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Feature {
    /// Its word.
    pub kind: FeatureKind,
    /// Its bit in that: 0 to 63.
    pub bit: u8,
    /// What an operator is told.
    pub name: String,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Features that are in use, in the order of their words and bits.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Features(Vec<Feature>);

/// Fragments may be stored by zstd, and moved in another form than they had.
const ZSTD: (FeatureKind, u8) = (FeatureKind::Incompatible, 0);

/// Features that this version knows.
const KNOWN: [(FeatureKind, u8); 1] = [ZSTD];

impl Features {
    /// These. Their names are at most [`FEATURE_NAME_BYTES_MAX`] long.
    pub fn new(mut features: Vec<Feature>) -> Self {
        features.sort();
        Features(features)
    }

    /// Those of a pool that is made now.
    pub fn of_new_pool() -> Self {
        let (kind, bit) = ZSTD;
        Features::new(vec![Feature { kind, bit, name: "zstd".to_owned() }])
    }

    /// Whether fragments may be stored by zstd, and moved in another form than they had.
    pub fn has_zstd(&self) -> bool {
        self.0.iter().any(|feature| (feature.kind, feature.bit) == ZSTD)
    }

    /// Those of one word that this version does not know.
    pub fn unknown(&self, kind: FeatureKind) -> Vec<&Feature> {
        let is_unknown = |feature: &&Feature| {
            feature.kind == kind && !KNOWN.contains(&(feature.kind, feature.bit))
        };
        self.0.iter().filter(is_unknown).collect()
    }

    /// `compatible (8) | read-only compatible (8) | incompatible (8) | names (1)`, each `word (1) |
    /// bit (1) | bytes (1) | UTF-8`.
    pub(crate) fn encode(&self, w: &mut Writer) {
        for kind in FeatureKind::ALL {
            let bits = self.0.iter().filter(|feature| feature.kind == kind);
            w.u64(bits.fold(0, |word, feature| word | 1 << feature.bit));
        }
        w.u8(self.0.len() as u8);
        for feature in &self.0 {
            w.u8(feature.kind as u8).u8(feature.bit).u8(feature.name.len() as u8);
            w.bytes(feature.name.as_bytes());
        }
    }

    /// Takes them. A bit without a name is called by its number.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let words = [r.u64()?, r.u64()?, r.u64()?];
        let mut named = Vec::new();
        for _ in 0..r.u8()? {
            let (word, bit, bytes) = (usize::from(r.u8()?), r.u8()?, usize::from(r.u8()?));
            let name = std::str::from_utf8(r.bytes(bytes)?).map_err(|_| r.malformed())?;
            if name.len() > FEATURE_NAME_BYTES_MAX || name.chars().any(char::is_control) {
                return Err(r.malformed());
            }
            named.push(((word, bit), name.to_owned()));
        }
        let features = FeatureKind::ALL.into_iter().zip(words).flat_map(|(kind, word)| {
            let set = (0..u64::BITS as u8).filter(move |bit| word >> bit & 1 == 1);
            set.map(move |bit| (kind, bit))
        });
        let name_of = |kind: FeatureKind, bit: u8| {
            let name = named.iter().find(|(place, _)| *place == (kind as usize, bit));
            name.map_or_else(|| format!("{kind:?} {bit}"), |(_, name)| name.clone())
        };
        Ok(Features(
            features.map(|(kind, bit)| Feature { kind, bit, name: name_of(kind, bit) }).collect(),
        ))
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        3 * 8 + 1 + self.0.iter().map(|feature| 3 + feature.name.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
