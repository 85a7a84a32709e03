//! Which of the drives with a pool's label are its drives. Pure.

use std::collections::BTreeMap;

use ashlar_block::DriveUuid;
use ashlar_drive::DriveMark;
use ashlar_volume::path_of;

use super::table::{Label, Place};
use super::{Copies, FoundPlace};

/// A drive with the pool's label.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub place: &'a Place,
    pub mark: &'a DriveMark,
    pub label: &'a Label,
    /// How it is named to open it: of a file without options.
    pub name: String,
}

/// Where a drive of the pool was.
#[derive(Clone, Debug)]
pub struct Remembered<'a> {
    /// How it was named.
    pub spec: &'a str,
    /// Its identity then.
    pub uuid: &'a str,
    /// What that name leads to now.
    pub place: Option<Place>,
}

/// The place of each drive. Where several have one label, the one counts that is where the drive
/// was, though it may be an old copy; else, if all of them are `the_same` drive, the first of them.
pub fn choose(
    candidates: &[Candidate<'_>],
    remembered: &[Remembered<'_>],
    the_same: impl Fn(&Place, &Place) -> bool,
) -> (Vec<FoundPlace>, Vec<Copies>) {
    let mut by_drive: BTreeMap<DriveUuid, Vec<&Candidate<'_>>> = BTreeMap::new();
    for candidate in candidates {
        by_drive.entry(candidate.label.uuid).or_default().push(candidate);
    }
    let (mut found, mut copies) = (Vec::new(), Vec::new());
    for (uuid, mut of_drive) in by_drive {
        let known = remembered.iter().find(|known| known.uuid == uuid.to_string());
        // Files first: of a file and a loop device over it the file was given.
        of_drive.sort_by_key(|candidate| {
            (matches!(candidate.place, Place::Device(_)), &candidate.name)
        });
        let was_there = |candidate: &&&Candidate<'_>| {
            known.is_some_and(|known| known.place.as_ref() == Some(candidate.place))
        };
        let first = of_drive[0];
        let are_one = |one: &Place, other: &Place| one == other || the_same(one, other);
        let all_are_one = || of_drive.iter().all(|other| are_one(first.place, other.place));
        match of_drive.iter().find(was_there).or_else(|| all_are_one().then_some(&first)) {
            Some(candidate) => {
                let others = of_drive.iter().filter(|other| !are_one(candidate.place, other.place));
                let others = others.map(|other| other.name.clone()).collect();
                found.push(FoundPlace { others, ..found_at(candidate, known) });
            }
            None => copies.push(Copies {
                uuid,
                drive: first.label.drive,
                specs: of_drive.iter().map(|candidate| candidate.name.clone()).collect(),
            }),
        }
    }
    (found, copies)
}

fn found_at(candidate: &Candidate<'_>, known: Option<&Remembered<'_>>) -> FoundPlace {
    let Candidate { mark, label, name, .. } = candidate;
    FoundPlace {
        uuid: label.uuid,
        drive: label.drive,
        spec: known.map_or_else(|| name.clone(), |known| spec_at(candidate, known)),
        mark: (*mark).clone(),
        others: Vec::new(),
    }
}

/// A file keeps its options wherever it is found. A device that has no name of its own keeps the
/// one that it was given.
fn spec_at(candidate: &Candidate<'_>, known: &Remembered<'_>) -> String {
    let is_where_it_was = known.place.as_ref() == Some(candidate.place);
    match candidate.place {
        Place::File(_) if is_where_it_was => known.spec.to_owned(),
        Place::File(_) => {
            let options = known.spec.strip_prefix(path_of(known.spec)).unwrap_or_default();
            format!("{}{options}", candidate.name)
        }
        Place::Device(_) if is_where_it_was && !is_stable(&candidate.name) => known.spec.to_owned(),
        Place::Device(_) => candidate.name.clone(),
    }
}

fn is_stable(name: &str) -> bool {
    name.contains("/disk/by-id/")
}

#[cfg(test)]
mod tests;
