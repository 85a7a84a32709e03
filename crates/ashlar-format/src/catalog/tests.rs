use super::*;

/// What a catalog says of scrubs, of the latency that a rebuild is held to, of faults, of a
/// rebalance, and of what was found and done by drives and bytes, of a scrub that goes on, and of
/// the reserve.
const SCRUB_BYTES: usize = 1 + 8 + 8 * 8;
const THRESHOLD_BYTES: usize = 4;
const TIMEOUT_BYTES: usize = 8;
const REBALANCE_BYTES: usize = 8;
const LATENCY_BYTES: usize = 8;
const PROGRESS_BYTES: usize = 1 + 8 + 8 + 4 + 4 + 3 * 8 + 4 * 8 + 2 + (2 + 4 * 8);
const RESERVE_BYTES: usize = 1;
const DETAIL_BYTES: usize = 2 + (2 + 4 * 8) + 2 * 8;

#[test]
fn a_catalog_reads_back() {
    let volume = VolumeEntry {
        family: Family(4),
        layer: Layer(2),
        state: VolumeState::Deleting,
        blocks: 77,
        compression: true,
        attributes: Bytes::from_static(b"name"),
    };
    let catalog = Catalog {
        volumes: BTreeMap::from([(VolumeId(4), volume)]),
        next_id: 9,
        usages: BTreeMap::from([(Family(4), Usage { blocks: 1, slots: 2 })]),
        settings: Settings {
            recon_prio: 10,
            recon_p99: Some(Duration::from_millis(2)),
            scrub_prio: 7,
            scrub_interval: Some(Duration::from_secs(3600)),
            fault_threshold: NonZeroU32::new(3),
            io_timeout: Some(Duration::from_secs(5)),
        },
        scrub: ScrubRecord {
            counted_from: 5,
            started_at: 3,
            finished_at: 4,
            bytes_checked: 1 << 40,
            findings: Findings { wrong: 3, unreadable: 1, repaired: 2, unrepaired: 2 },
            drives: BTreeMap::from([(
                DriveId(2),
                Findings { wrong: 2, unreadable: 1, repaired: 2, unrepaired: 1 },
            )]),
        },
        scrub_progress: Some(ScrubProgress {
            started_at: 7,
            end: Lsn(88),
            next: (SegmentId(5), 6),
            rows_done: 70,
            rows_total: 80,
            bytes_checked: 1 << 30,
            findings: Findings { wrong: 1, unreadable: 0, repaired: 1, unrepaired: 0 },
            drives: BTreeMap::from([(DriveId(1), Findings { wrong: 1, repaired: 1, ..Findings::default() })]),
        }),
        reserve_released: true,
        rebalance_below: Some(Lsn(99)),
        rebuilt_bytes: 1 << 33,
        rebalanced_bytes: 1 << 34,
    };
    let bytes = catalog.encode();
    assert_eq!(Catalog::decode(&bytes), Ok(catalog.clone()));
    let before_reserve = bytes.len() - RESERVE_BYTES;
    let before_progress = before_reserve - PROGRESS_BYTES;
    let before_details = before_progress - DETAIL_BYTES;
    let before_timeout = before_details - TIMEOUT_BYTES;
    let before_rebalances = before_timeout - REBALANCE_BYTES;
    let before_threshold = before_rebalances - THRESHOLD_BYTES;
    let before_latency = before_threshold - LATENCY_BYTES;
    let before_scrubs = before_latency - SCRUB_BYTES;
    let whole = [
        before_reserve,
        before_progress,
        before_details,
        before_timeout,
        before_rebalances,
        before_threshold,
        before_latency,
        before_scrubs,
    ];
    let ends = (0..bytes.len()).filter(|end| !whole.contains(end));
    assert!(ends.into_iter().all(|end| Catalog::decode(&bytes[..end]).is_err()));
    let mut old = Catalog { reserve_released: false, ..catalog.clone() };
    let without = Catalog::decode(&bytes[..before_reserve]);
    assert_eq!(without, Ok(old.clone()), "as it was before there was a reserve");
    old.scrub_progress = None;
    let without = Catalog::decode(&bytes[..before_progress]);
    assert_eq!(without, Ok(old.clone()), "as it was before scrubs went on after a restart");
    let none = old.encode();
    assert_eq!(Catalog::decode(&none), Ok(old.clone()));
    (old.scrub.drives, old.rebuilt_bytes, old.rebalanced_bytes) = (BTreeMap::new(), 0, 0);
    let without = Catalog::decode(&bytes[..before_details]);
    assert_eq!(without, Ok(old.clone()), "as it was before a scrub's drives were remembered");
    old.settings.io_timeout = Settings::default().io_timeout;
    let without = Catalog::decode(&bytes[..before_timeout]);
    assert_eq!(without, Ok(old.clone()), "as it was before drives were given up for their silence");
    old.rebalance_below = None;
    let without = Catalog::decode(&bytes[..before_rebalances]);
    assert_eq!(without, Ok(old.clone()), "as it was before there were rebalances");
    old.settings.fault_threshold = Settings::default().fault_threshold;
    assert_eq!(
        Catalog::decode(&bytes[..before_threshold]),
        Ok(old.clone()),
        "as it was before there was a threshold"
    );
    old.settings.recon_p99 = None;
    assert_eq!(Catalog::decode(&bytes[..before_latency]), Ok(old), "as it was before there was a latency");
    let old = Catalog {
        settings: Settings { recon_prio: 10, ..Settings::default() },
        scrub: ScrubRecord::default(),
        scrub_progress: None,
        reserve_released: false,
        rebalance_below: None,
        rebuilt_bytes: 0,
        rebalanced_bytes: 0,
        ..catalog
    };
    assert_eq!(Catalog::decode(&bytes[..before_scrubs]), Ok(old), "as it was before there were scrubs");
}
