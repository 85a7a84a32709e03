use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::{ErrorLocation, Status};

use super::{ERROR_LOG_ENTRIES, ErrorLog};

#[test]
fn the_newest_errors_are_kept_newest_first() {
    let mut log = ErrorLog::default();
    for cid in 0..100 {
        log.add(
            1,
            &Sqe::new(2, Cid(cid), 7),
            Status::LBA_OUT_OF_RANGE.dnr(),
            ErrorLocation::byte(40),
        );
    }
    let entries: Vec<_> = log.entries().collect();
    assert_eq!(entries.len(), ERROR_LOG_ENTRIES);
    assert_eq!(entries[0].error_count.get(), 100);
    assert_eq!(entries[0].cid.get(), 99);
    assert_eq!(entries[0].status.get(), 0x4080 << 1);
    assert_eq!(entries[0].location.get(), 40);
    assert_eq!(entries[63].error_count.get(), 37);
}
