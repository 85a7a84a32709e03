use ashlar_block::AlignedBuf;
use ashlar_nvme::pdu::{DataHeader, FatalStatus, PduFault, Ttag};
use ashlar_nvme::sqe::Cid;

use super::{Letter, Transfers};

const FIRST: DataHeader =
    DataHeader { cid: Cid(7), ttag: Ttag(0), offset: 0, length: 4096, last: false, success: false };

fn one_transfer() -> Transfers {
    let transfers = Transfers::default();
    assert_eq!(transfers.begin(Cid(7), AlignedBuf::zeroed(8192), Letter::new()), Ttag(0));
    transfers
}

#[test]
fn data_that_nobody_asked_for_are_refused() {
    let fault = |header| one_transfer().accept(&header).unwrap_err();
    let out_of_range = PduFault::new(FatalStatus::DataOutOfRange);
    assert_eq!(fault(DataHeader { ttag: Ttag(1), ..FIRST }), PduFault::header_field(10));
    assert_eq!(fault(DataHeader { cid: Cid(8), ..FIRST }), PduFault::header_field(8));
    assert_eq!(fault(DataHeader { offset: 4, ..FIRST }), PduFault::header_field(12));
    assert_eq!(fault(DataHeader { length: 8193, ..FIRST }), out_of_range);
    assert_eq!(fault(DataHeader { offset: u32::MAX, ..FIRST }), out_of_range);
    assert_eq!(fault(DataHeader { last: true, ..FIRST }), PduFault::header_field(1));
    assert_eq!(fault(DataHeader { length: 8192, ..FIRST }), PduFault::header_field(1));
}

#[test]
fn data_come_in_order_and_once() {
    let transfers = one_transfer();
    let buf = transfers.accept(&FIRST).unwrap();
    assert_eq!(transfers.accept(&FIRST).unwrap_err(), PduFault::new(FatalStatus::SequenceError));
    transfers.received(&FIRST, buf, true);
    assert_eq!(transfers.accept(&FIRST).unwrap_err(), PduFault::header_field(12));
    let last = DataHeader { offset: 4096, last: true, ..FIRST };
    let buf = transfers.accept(&last).unwrap();
    transfers.received(&last, buf, true);
    assert_eq!(transfers.accept(&last).unwrap_err(), PduFault::header_field(10));
}
