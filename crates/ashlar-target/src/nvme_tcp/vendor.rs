//! What the tools of ScaleFlux's compressing drives ask for: `nvme sfx` and scripts that read the
//! same log pages. What is of flash alone is 0, for a pool has many drives.
//!
//! Over fabrics the plugin's `query-cap`, `change-cap` and `status` cannot work, whatever a target
//! answers: Linux sends the first as a write, the second asks the first, and the third looks for a
//! PCI device. Log page C2h has what they would say.

use ashlar_block::latency::{GROUPS, Histogram, OpKind};
use ashlar_nvme::log::scaleflux::{
    AdditionalSmart, ExtendedHealth, FEATURE_ATOMIC_WRITE, LATENCY_BUCKETS, LATENCY_GROUPS,
    LatencyLog, READ_LATENCY, WRITE_LATENCY, extended_warning,
};
use ashlar_nvme::sqe::NSID_ALL;
use ashlar_nvme::status::{Rejection, Status};
use ashlar_nvme::text::ascii_padded;
use ashlar_nvme::zerocopy::{FromZeros, IntoBytes};
use ashlar_volume::{Door, NamespaceInfo, Nsid, SpaceFigures};

use super::admin::NAMESPACE_INVALID;
use super::controller::Controller;
use super::ticket::Ticket;

const SECTOR_BYTES: u64 = 512;
const GB: u64 = 1_000_000_000;
/// What is formatted at most, of what is provisioned.
const FORMATTED_MAX: u64 = 4;

/// What is used of what there is, in percent.
fn used_percent(space: &SpaceFigures) -> u64 {
    (u128::from(space.live) * 100).checked_div(space.provisioned.into()).unwrap_or(0) as u64
}

/// Additional SMART, as `nvme sfx smart-log-add` reads it.
pub(super) fn additional_smart(space: &SpaceFigures) -> Vec<u8> {
    let smart = AdditionalSmart {
        end_to_end_errors: space.blocks_wrong,
        media_sectors_written: space.drives_written / SECTOR_BYTES,
        host_sectors_written: space.host_written / SECTOR_BYTES,
        recovered_by_parity: space.blocks_restored,
        read_errors: space.reads_refused,
        is_out_of_space: space.is_full,
        used_percent: used_percent(space),
        failed_drives: space.drives_failed,
    };
    smart.items().as_bytes().to_vec()
}

/// Extended health, which scripts read by its number.
pub(super) fn extended_health(space: &SpaceFigures) -> Vec<u8> {
    let percent = (u128::from(space.written) * 100).checked_div(space.stored.into());
    let over = if space.is_full { extended_warning::OVER_CAPACITY } else { 0 };
    let clamped = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let mut log = ExtendedHealth::new_zeroed();
    log.critical_warning = over.into();
    log.parity_recoveries = clamped(space.blocks_restored).into();
    log.part_number = ascii_padded("ASHLAR");
    log.total_physical = (space.provisioned / SECTOR_BYTES).into();
    log.free_physical = (space.safe_to_write / SECTOR_BYTES).into();
    log.used_percent = clamped(used_percent(space)).into();
    log.compression_percent = clamped(percent.map_or(100, |percent| percent as u64)).into();
    log.formatted_max_gb = (space.provisioned.saturating_mul(FORMATTED_MAX) / GB).into();
    log.formatted_gb = (space.formatted / GB).into();
    log.as_bytes().to_vec()
}

/// Of which commands a page has the latencies, if it is such a page.
pub(super) fn kind_of_latency(page: u8) -> Option<OpKind> {
    match page {
        READ_LATENCY => Some(OpKind::Read),
        WRITE_LATENCY => Some(OpKind::Write),
        _ => None,
    }
}

/// Latencies, as `nvme sfx lat-stats` reads them. What took longer than the page has buckets for is
/// in the last one.
pub(super) fn latency_page(took: &Histogram) -> Vec<u8> {
    let mut log = LatencyLog::new();
    let counts = |at: usize| took.group(at).into_iter().flatten().copied();
    for (at, group) in log.groups.iter_mut().enumerate() {
        let clamped = counts(at).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        group.iter_mut().zip(clamped).for_each(|(bucket, count)| *bucket = count.into());
    }
    let longer: u64 = (LATENCY_GROUPS..GROUPS).flat_map(counts).sum();
    let last = &mut log.groups[LATENCY_GROUPS - 1][LATENCY_BUCKETS - 1];
    *last = last.get().saturating_add(u32::try_from(longer).unwrap_or(u32::MAX)).into();
    log.average = took.mean().map_or(0, |mean| mean.as_micros() as u64).into();
    log.as_bytes().to_vec()
}

/// Answers `nvme sfx get-feature`: whether hosts are told that writes are atomic.
pub(super) fn get_feature<D: Door>(controller: &Controller<D>, ticket: Ticket, feature: u32) {
    match is_on(controller, ticket.nsid(), feature) {
        Ok(is_on) => ticket.complete(Status::SUCCESS, is_on.into()),
        Err(rejection) => ticket.reject(rejection),
    }
}

/// Answers `nvme sfx set-feature`. Atomic writes stay as they are: an operator alone changes what
/// hosts are told of them.
pub(super) fn set_feature<D: Door>(
    controller: &Controller<D>,
    ticket: Ticket,
    feature: u32,
    value: u32,
) {
    match is_on(controller, ticket.nsid(), feature) {
        Ok(is_on) if is_on == (value != 0) => ticket.succeed(),
        Ok(_) => ticket.reject(Rejection::new(Status::FEATURE_NOT_CHANGEABLE.dnr())),
        Err(rejection) => ticket.reject(rejection),
    }
}

/// Whether a feature is on for a namespace, or for all that the host sees.
fn is_on<D: Door>(controller: &Controller<D>, nsid: u32, feature: u32) -> Result<bool, Rejection> {
    if feature != FEATURE_ATOMIC_WRITE {
        return Err(Rejection::field(40));
    }
    let is_atomic = |info: &NamespaceInfo| info.atomic_announced_bytes > info.lba_bytes;
    let (door, host) = (&controller.service.door, &controller.host().nqn);
    if matches!(nsid, 0 | NSID_ALL) {
        return Ok(door.namespaces(host).iter().all(is_atomic));
    }
    let is_atomic = door.with_namespace(host, Nsid(nsid), |info, _| is_atomic(info));
    is_atomic.ok_or(NAMESPACE_INVALID)
}

#[cfg(test)]
mod tests;
