//! Drives whose answers mean nothing.

use std::cell::RefCell;
use std::io;

use ashlar_block::XorShift;
use ashlar_reactor::passthrough::{NvmeAdmin, NvmeAnswer, SENSE_BYTES_MAX, ScsiAnswer};

use super::super::transport::Commands;
use super::super::warnings::{Thresholds, warnings};
use super::{ata, nvme, scsi};

struct Hostile(RefCell<XorShift>);

impl Hostile {
    fn next(&self) -> u64 {
        self.0.borrow_mut().next_u64()
    }

    /// Bytes of all kinds, with many that lengths, codes and flags could be.
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let drawn = self.next();
            *byte = match drawn >> 8 & 3 {
                0 => 0,
                1 => 0xff,
                2 => [0x72, 0x70, 0x09, 0x0d, 0x08, 0x80][drawn as usize % 6],
                _ => drawn as u8,
            };
        }
    }
}

impl Commands for Hostile {
    fn nvme_admin(&self, _: &NvmeAdmin, data: &mut [u8]) -> io::Result<NvmeAnswer> {
        self.fill(data);
        Ok(NvmeAnswer { status: 0, result: self.next() as u32 })
    }

    fn scsi(&self, _: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
        self.fill(data);
        let mut sense = [0; SENSE_BYTES_MAX];
        self.fill(&mut sense);
        let sense_bytes = self.next() as usize % (SENSE_BYTES_MAX + 1);
        let status = [0, 0, 0, 2][self.next() as usize % 4];
        Ok(ScsiAnswer { status, is_host_failure: false, sense, sense_bytes, missing_bytes: 0 })
    }
}

#[test]
fn no_answer_of_a_drive_makes_anything_panic() {
    let mut awake = 0;
    for seed in 0..2_000 {
        let drive = Hostile(RefCell::new(XorShift::new(seed)));
        let answers = [nvme::look(&drive).map(Some), ata::look(&drive), scsi::look(&drive)];
        for health in answers.into_iter().flatten().flatten() {
            awake += 1;
            let first = warnings(&health, &[], u64::MAX, Thresholds::default());
            drop(warnings(&health, &first, 0, Thresholds::default()));
        }
    }
    assert!(awake > 2_000, "{awake} answers were read");
}
