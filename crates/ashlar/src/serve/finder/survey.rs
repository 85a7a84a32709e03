//! Which drives the machine has, as far as lists show them. Only the kernel and udev are asked
//! here, which answer at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ashlar_drive::{
    DeviceNumber, DriveMark, DriveSpec, ListedDevice, Machine, Unread, unread_by_name,
    unread_by_state,
};

use super::missed::path_of;
use super::table::{Entry, Known, Place, Table};

/// The drives of the machine.
pub struct Survey {
    machine: Machine,
    own_nqn: String,
    /// What is known of each.
    pub table: Table,
    /// The names that outlive restarts, by what the kernel calls block devices now.
    pub stable_names: BTreeMap<String, PathBuf>,
    names_mark: Option<(i64, i64)>,
}

impl Survey {
    /// One that has seen nothing yet. Volumes of the subsystem `own_nqn` are left alone.
    pub fn new(machine: Machine, own_nqn: String) -> Self {
        let (table, stable_names, names_mark) = (Table::default(), BTreeMap::new(), None);
        Survey { machine, own_nqn, table, stable_names, names_mark }
    }

    /// Reads the list of devices, and what the kernel says of those that are new or may have
    /// `changed`. Thorough: each device is asked whether another disk or medium is behind it by
    /// now. `named`: nodes that are looked at where the kernel lists nothing, as in some
    /// containers.
    pub fn see_devices(
        &mut self,
        changed: &BTreeSet<DeviceNumber>,
        is_thorough: bool,
        named: &[PathBuf],
    ) {
        let mut listed = self.machine.devices();
        if listed.is_empty() {
            listed.extend(named.iter().filter_map(|path| device_at(path)));
        }
        let there: BTreeSet<Place> =
            listed.iter().map(|device| Place::Device(device.number)).collect();
        self.table.keep(|place| matches!(place, Place::Device(_)), &there);
        for device in listed {
            let place = Place::Device(device.number);
            let has_changed = changed.contains(&device.number);
            let looks_same = self.looks_same(&place, &device, is_thorough || !changed.is_empty());
            if looks_same
                && !has_changed
                && !(is_thorough && self.is_another(&place, device.number))
            {
                continue;
            }
            if has_changed {
                self.table.keep(|known| *known == place, &BTreeSet::new());
            }
            let entry = self.describe(&device, named);
            entry.into_iter().for_each(|entry| self.table.see(place.clone(), entry));
        }
    }

    /// Whether a device is as it was by the list. One that something else holds may be free by now:
    /// `asks` the kernel.
    fn looks_same(&self, place: &Place, device: &ListedDevice, asks: bool) -> bool {
        self.table.entries.get(place).is_some_and(|known| {
            let may_be_free =
                matches!(known.known, Known::LeftAlone(Unread::Held | Unread::Suspended));
            is_listed_as(&known.mark, device) && !(may_be_free && asks)
        })
    }

    /// Whether another disk or medium is behind a device by now.
    fn is_another(&self, place: &Place, number: DeviceNumber) -> bool {
        let Some(Entry { mark: DriveMark::Device { diskseq, .. }, known, .. }) =
            self.table.entries.get(place)
        else {
            return true;
        };
        !matches!(known, Known::LeftAlone(_)) && self.machine.diskseq(number) != *diskseq
    }

    fn describe(&self, device: &ListedDevice, named: &[PathBuf]) -> Option<Entry> {
        let (number, size_kib) = (device.number, device.size_kib);
        let entry = |path, diskseq, known| {
            let mark = DriveMark::Device { number, size_kib, diskseq };
            Entry { mark, path, kernel: Some(device.name.clone()), known, last: None }
        };
        if let Some(why) = unread_by_name(device) {
            return Some(entry(PathBuf::new(), None, Known::LeftAlone(why)));
        }
        let Some(described) = self.machine.describe(number) else {
            let node = named.iter().find(|path| device_at(path).as_ref() == Some(device))?;
            return Some(entry(node.clone(), None, Known::Unread));
        };
        let known =
            unread_by_state(&described, &self.own_nqn).map_or(Known::Unread, Known::LeftAlone);
        Some(entry(described.node, described.diskseq, known))
    }

    /// Reads the names that udev gives, if they have changed.
    pub fn see_stable_names(&mut self) {
        let mark = self.machine.stable_names_mark();
        if mark != self.names_mark {
            self.names_mark = mark;
            self.stable_names = self.machine.stable_names();
        }
    }

    /// A directory has these files.
    pub fn see_directory(&mut self, path: &Path, files: BTreeMap<PathBuf, DriveMark>) {
        let there: BTreeSet<Place> = files.keys().cloned().map(Place::File).collect();
        let is_in_it =
            |place: &Place| matches!(place, Place::File(file) if file.parent() == Some(path));
        self.table.keep(is_in_it, &there);
        for (file, mark) in files {
            let entry =
                Entry { mark, path: file.clone(), kernel: None, known: Known::Unread, last: None };
            self.table.see(Place::File(file), entry);
        }
    }

    /// Files outside of these directories are nobody's.
    pub fn keep_directories(&mut self, are_known: impl Fn(&Path) -> bool) {
        let is_outside = |place: &Place| match place {
            Place::File(path) => !path.parent().is_some_and(&are_known),
            Place::Device(_) => false,
        };
        self.table.keep(is_outside, &BTreeSet::new());
    }

    /// How a drive is named. `None`: no text can name it.
    pub fn name_of(&self, place: &Place, entry: &Entry) -> Option<String> {
        let stable = || self.stable_names.get(entry.kernel.as_ref()?);
        let path = stable().unwrap_or(&entry.path).to_str()?;
        Some(match place {
            Place::Device(_) => DriveSpec::Block { path: path.into() }.to_string(),
            Place::File(_) => DriveSpec::existing_file(path.into()).to_string(),
        })
    }

    /// What a name leads to now.
    pub fn place_of(&self, spec: &str) -> Option<Place> {
        let path = path_of(spec)?;
        if spec.starts_with("file:") {
            return Some(Place::File(path));
        }
        // Below /dev nothing hangs.
        let found = device_at(&path).filter(|_| path.starts_with(self.machine.dev()));
        found.map(|found| Place::Device(found.number))
    }

    /// Whether two places are one drive.
    pub fn are_one_drive(&self, one: &Place, other: &Place) -> bool {
        let path = |place: &Place| self.table.entries.get(place).map(|entry| entry.path.clone());
        let footprint = |place: &Place| self.machine.footprint(&path(place)?);
        let both = footprint(one).zip(footprint(other));
        both.is_some_and(|(one, other)| one.overlap(&other).is_some())
    }
}

/// The device at `path`, of a size that is not known.
fn device_at(path: &Path) -> Option<ListedDevice> {
    let found = fs::metadata(path).ok()?;
    let name = path.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
    let is_device = std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type());
    is_device.then(|| ListedDevice { number: DeviceNumber::of(found.rdev()), size_kib: 1, name })
}

/// Whether a device that has the mark is listed like this.
fn is_listed_as(mark: &DriveMark, device: &ListedDevice) -> bool {
    matches!(mark, DriveMark::Device { size_kib, .. } if *size_kib == device.size_kib)
}

#[cfg(test)]
mod tests;
