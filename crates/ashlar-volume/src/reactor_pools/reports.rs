//! What there is to say of a pool that is open: to operators, and to be remembered.

use std::collections::BTreeMap;

use ashlar_block::{DriveUuid, VolumeId};
use ashlar_store::{DriveCondition, PoolStatus, VolumeEntry};

use super::{OpenPool, OpenVolume, PoolDrive};
use crate::drive_provider::{DriveFacts, DriveProvider};
use crate::report::{DriveReport, HeldDrive, PoolRecord, PoolReport, VolumeReport, is_lost};
use crate::table::{ReactorIndex, Table};

impl<B: DriveProvider> OpenPool<B> {
    pub(super) fn held(&self, provider: &B) -> Vec<HeldDrive> {
        let (status, drives) = (self.store.status(), self.drives.borrow());
        let is_there = |given: &&PoolDrive<B::Device>| provider.is_there(&given.drive.device);
        let held = drives.iter().filter(is_there).map(|given| {
            // One that came back has several records, of which the newest comes last.
            let record = status.drives.iter().rfind(|record| record.uuid == given.uuid);
            HeldDrive {
                spec: given.drive.facts.spec.clone(),
                pool: self.name(),
                drive: format!("drive-{}", record.map_or(given.id, |record| record.drive).0),
                is_lost: record.is_some_and(is_lost),
                is_being_erased: false,
            }
        });
        held.collect()
    }

    /// Without drives that are no members any more and that it has not let go of yet: what is
    /// remembered is opened at the next start.
    pub(super) fn record(&self, provider: &B) -> PoolRecord {
        let given = self.drives.borrow();
        let members: Vec<DriveUuid> =
            self.store.status().drives.iter().map(|drive| drive.uuid).collect();
        let is_member = |given: &&PoolDrive<B::Device>| members.contains(&given.uuid);
        let drives = given.iter().filter(is_member);
        PoolRecord {
            uuid: self.uuid,
            name: self.name(),
            drives: drives
                .map(|member| (member.facts(provider).place().to_owned(), member.uuid))
                .collect(),
            is_volatile: given.iter().any(|member| member.drive.facts.is_volatile),
            members,
        }
    }

    pub(super) fn report(&self, provider: &B, home: ReactorIndex, table: &Table) -> PoolReport {
        // Nothing of the pool happens in between.
        let (status, occurrence) = (self.store.status(), table.occurrences().number());
        let entries = self.store.volumes();
        let mut volumes: Vec<VolumeReport> =
            self.volumes.borrow().values().map(|open| self.volume_report(open, &entries)).collect();
        volumes.sort_by(|one, other| one.name.cmp(&other.name));
        let drives = status.drives.iter().map(|drive| {
            let drives = self.drives.borrow();
            let given = drives.iter().find(|given| given.uuid == drive.uuid);
            DriveReport {
                status: drive.clone(),
                facts: given.map(|given| given.facts(provider)),
                is_stale: given.is_some_and(|given| self.opened.stale.contains(&given.id)),
            }
        });
        let drives: Vec<DriveReport> = drives.collect();
        let notes = self.notes_now(&drives);
        let parting = self.parting(&status);
        let opened = self.opened.clone();
        PoolReport { home, drives, status, opened, volumes, notes, parting, occurrence }
    }

    pub(super) fn parting(&self, status: &PoolStatus) -> Vec<String> {
        let is_member =
            |given: &PoolDrive<B::Device>| status.drives.iter().any(|it| it.uuid == given.uuid);
        let drives = self.drives.borrow();
        let left = drives
            .iter()
            .filter(|given| !is_member(given))
            .map(|given| given.drive.facts.spec.clone());
        left.chain(self.parting.borrow().iter().cloned()).collect()
    }

    pub(super) fn notes_now(&self, drives: &[DriveReport]) -> Vec<String> {
        let works = |drive: &&DriveReport| {
            matches!(drive.status.condition, DriveCondition::Online | DriveCondition::Leaving)
        };
        let working: Vec<&DriveFacts> =
            drives.iter().filter(works).filter_map(|drive| drive.facts.as_ref()).collect();
        let all_back = !self.opened.missing.is_empty() && drives.iter().all(|drive| works(&drive));
        self.notes.now(&working, all_back)
    }

    pub(super) fn volume_report(
        &self,
        open: &OpenVolume<B>,
        entries: &BTreeMap<VolumeId, VolumeEntry>,
    ) -> VolumeReport {
        let attributes = open.volume.attributes();
        let compression =
            entries.get(&open.volume.id()).map_or(open.compression, |entry| entry.compression);
        VolumeReport {
            pool: self.name(),
            name: attributes.name.to_string(),
            uuid: attributes.uuid,
            nsid: attributes.nsid,
            size_bytes: open.volume.size_bytes(),
            lba_bytes: attributes.lba_bytes,
            access: attributes.access,
            write_protected: attributes.write_protected,
            atomic_write_bytes: attributes.atomic.shown(open.volume.atomic_write_bytes()),
            made_at: attributes.made_at,
            compression,
            usage: open.volume.usage(),
            is_busy: open.is_busy(),
            policy: self.policies.borrow().known.resolve(&attributes.qos),
            qos: attributes.qos,
            delays: open.throttle.delays(),
        }
    }
}
