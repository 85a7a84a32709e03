mod quirky;
mod slow;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use ashlar_block::{DeviceOp, MemoryDevice, wait_for};

use super::*;
use crate::geometry::ChunkAddr;
use crate::parity;
use quirky::{Quirk, Quirky};

const CHUNK_BYTES: u32 = 64 << 10;

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("memory devices do not wait"),
    }
}

fn array(drives: u16) -> Array<MemoryDevice> {
    let layout = DriveLayout { chunks_start: 1 << 20, chunk_bytes: CHUNK_BYTES, chunk_count: 8 };
    let member = |_| Some(Rc::new(Member::new(MemoryDevice::new(4 << 20), layout)));
    Array::new((0..drives).map(member).collect())
}

fn geometry(drives: u16, parity: usize) -> Geometry {
    let columns =
        (0..drives).map(|drive| ChunkAddr { drive: DriveId(drive), chunk: u32::from(drive) });
    Geometry::new(columns.collect(), parity)
}

fn rows(geometry: &Geometry) -> Vec<Bytes> {
    let data: Vec<Vec<u8>> =
        (0..geometry.data()).map(|column| vec![column as u8 + 1; 2 * SECTOR_BYTES]).collect();
    let mut parities = vec![vec![0; 2 * SECTOR_BYTES]; geometry.parity()];
    let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
    parity::encode(&sources, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    data.into_iter().chain(parities).map(|column| AlignedBuf::copy_of(&column).freeze()).collect()
}

#[test]
fn every_column_is_read_with_as_many_drives_lost_as_there_is_parity() {
    for (drives, parity) in [(3, 1), (5, 1), (6, 2)] {
        let geometry = geometry(drives, parity);
        for lost in 0..drives {
            let array = array(drives);
            let columns = rows(&geometry);
            assert_eq!(
                now(array.write_rows(&geometry, 3, columns.iter().cloned())),
                Ok(MissingColumns(ColumnMask(0)))
            );
            (0..parity as u16)
                .for_each(|next| array.give_up(DriveId((lost + next) % drives), DeviceError::Gone));
            for (column, written) in columns.iter().enumerate().take(geometry.data()) {
                let (read, _) = now(array.read_checked(&geometry, column, 3..5, |_| true))
                    .expect("within parity");
                assert_eq!(&read[..], &written[..]);
            }
        }
    }
}

#[test]
fn wrong_bytes_are_replaced_by_the_right_ones_and_the_drive_is_named() {
    let (array, geometry) = (array(6), geometry(6, 2));
    let columns = rows(&geometry);
    now(array.write_rows(&geometry, 0, columns.iter().cloned()))
        .map(|_| ())
        .expect("all drives work");
    for drive in [1u16, 2] {
        let member = array.working(DriveId(drive)).expect("works");
        let offset = member.layout().offset(u32::from(drive), 0);
        now(member.device.write(offset, AlignedBuf::zeroed(8192).freeze(), Durability::Stable))
            .expect("in range");
    }
    let right = columns[1].clone();
    let (read, source) =
        now(array.read_checked(&geometry, 1, 0..2, |bytes| bytes == right)).expect("two parities");
    assert_eq!((&read[..], source), (&right[..], Source::Corrupt));
    assert_eq!(array.member(DriveId(1)).expect("a member").corrupt_reads(), 1);
}

#[test]
fn more_losses_than_parity_are_an_error_for_reads_and_writes() {
    let (array, geometry) = (array(4), geometry(4, 1));
    array.give_up(DriveId(0), DeviceError::Gone);
    array.give_up(DriveId(1), DeviceError::Gone);
    let unsafe_write = now(array.write_rows(&geometry, 0, rows(&geometry).into_iter()));
    assert_eq!(unsafe_write, Err(Unsafe { missing: ColumnMask(3), parity: 1 }));
    let read = now(array.read_checked(&geometry, 0, 0..1, |_| true));
    assert!(matches!(read, Err(ReadError::TooFewColumns { available: 2, needed: 3, .. })));
}

#[test]
fn neighbouring_rows_may_have_lost_different_columns() {
    let (array, geometry) = (array(4), geometry(4, 1));
    let columns = rows(&geometry);
    now(array.write_rows(&geometry, 0, columns.iter().cloned()))
        .map(|_| ())
        .expect("all drives work");
    for (drive, row) in [(1u16, 0), (2, 1)] {
        let member = array.working(DriveId(drive)).expect("works");
        let offset = member.layout().offset(u32::from(drive), row * SECTOR_BYTES as u32);
        now(member.device.write(
            offset,
            AlignedBuf::zeroed(SECTOR_BYTES).freeze(),
            Durability::Stable,
        ))
        .expect("in range");
    }
    let right = columns[1].clone();
    let (read, source) = now(array.read_checked(&geometry, 1, 0..2, |bytes| bytes == right))
        .expect("each row has lost one column");
    assert_eq!((&read[..], source), (&right[..], Source::Corrupt));
}

/// A drive that has lost what was in its cache, says so once, and then that all is well.
#[derive(Default)]
struct LosesItsCache {
    has_said_so: Cell<bool>,
}

impl Quirk for LosesItsCache {
    async fn before(&self, op: DeviceOp, _: Range<u64>) -> Result<(), DeviceError> {
        if op == DeviceOp::Flush && !self.has_said_so.replace(true) {
            return Err(DeviceError::Os { op, offset: 0, errno: 5 });
        }
        Ok(())
    }
}

/// Linux reports a write that was lost from its cache to one flush, and the next one succeeds.
#[test]
fn a_drive_whose_flush_has_failed_is_not_believed_when_the_next_succeeds() {
    let layout = DriveLayout { chunks_start: 1 << 20, chunk_bytes: CHUNK_BYTES, chunk_count: 8 };
    let drive = Quirky::new(LosesItsCache::default());
    let array = Array::new(vec![Some(Rc::new(Member::new(drive, layout)))]);
    now(array.flush(DriveId(0)));
    assert!(array.working(DriveId(0)).is_none());
    now(array.flush(DriveId(0)));
    assert!(array.working(DriveId(0)).is_none());
}

/// A drive that refuses to read a part of it.
struct Scratched {
    scratch: Range<u64>,
}

impl Quirk for Scratched {
    async fn before(&self, op: DeviceOp, bytes: Range<u64>) -> Result<(), DeviceError> {
        if op == DeviceOp::Read && bytes.start < self.scratch.end && self.scratch.start < bytes.end
        {
            return Err(DeviceError::Os { op, offset: bytes.start, errno: 5 });
        }
        Ok(())
    }
}

/// Each of its sectors was one more, and nine of them cost the drive that a scrub was about to make
/// right.
#[test]
fn a_place_that_cannot_be_read_is_one_fault_however_many_sectors_it_has() {
    let layout = DriveLayout { chunks_start: 1 << 20, chunk_bytes: CHUNK_BYTES, chunk_count: 8 };
    let (first, sector) = (layout.offset(0, 0), SECTOR_BYTES as u64);
    let scratch = first + 3 * sector..first + 12 * sector;
    let drive = || Quirky::new(Scratched { scratch: scratch.clone() });
    let member = |_| Some(Rc::new(Member::new(drive(), layout)));
    let array = Array::new((0..3).map(member).collect()).with_clock(|| Nanos(0));
    array.set_fault_threshold(NonZeroU32::new(2));
    let geometry = geometry(3, 1);
    assert!(now(array.read_sectors(&geometry, 0, &(0..16))).is_err());
    let each = now(array.read_each(&geometry, 0, 0..16));
    let refused: Vec<usize> = (0..16).filter(|row| each[*row].is_none()).collect();
    assert_eq!((refused, array.faulty_drive()), ((3..12).collect(), None));
    assert!(now(array.read_sectors(&geometry, 0, &(8..9))).is_err());
    assert_eq!(
        array.faulty_drive(),
        Some(DriveId(0)),
        "what is asked for another time is another fault"
    );
}

/// A drive that answers nothing while it hangs.
#[derive(Default)]
struct Silent {
    is_hung: Cell<bool>,
    goes_on: Notify,
}

impl Silent {
    fn go_on(&self) {
        self.is_hung.set(false);
        self.goes_on.notify_waiters();
    }
}

impl Quirk for Silent {
    async fn before(&self, _: DeviceOp, _: Range<u64>) -> Result<(), DeviceError> {
        wait_for(&self.goes_on, || (!self.is_hung.get()).then_some(())).await;
        Ok(())
    }
}

type Hangs = Quirky<Silent>;

/// Four drives with rows on them, of which the one of column 2 hangs from now on.
fn hanging() -> (Array<Hangs>, Geometry, Rc<Member<Hangs>>) {
    hanging_of(geometry(4, 1))
}

/// The same with rows of another shape.
fn hanging_of(geometry: Geometry) -> (Array<Hangs>, Geometry, Rc<Member<Hangs>>) {
    let layout = DriveLayout { chunks_start: 1 << 20, chunk_bytes: CHUNK_BYTES, chunk_count: 8 };
    let drive = |_| Some(Rc::new(Member::new(Quirky::new(Silent::default()), layout)));
    let array = Array::new((0..geometry.columns.len()).map(drive).collect());
    let written = now(array.write_rows(&geometry, 0, rows(&geometry).into_iter()));
    assert_eq!(written, Ok(MissingColumns(ColumnMask::default())));
    let member = array.member(DriveId(2)).expect("a member");
    member.device.quirk.is_hung.set(true);
    (array, geometry, member)
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Looks until the drive of column 2 is silent.
fn look_until_silent(array: &Array<Hangs>) {
    assert!((0..10).any(|_| array.look() == [DriveId(2)]), "it owes an answer and gives none");
}

#[test]
fn reads_do_not_wait_for_a_drive_that_does_not_answer() {
    let (array, geometry, member) = hanging();
    let right = rows(&geometry)[2].slice(..SECTOR_BYTES);
    let read = || array.read_checked(&geometry, 2, 0..1, |read| read[..] == right[..]);
    let mut waits = pin!(read());
    assert!(poll(waits.as_mut()).is_pending(), "it may only be late");
    look_until_silent(&array);
    let Poll::Ready(Ok((_, Source::Spared))) = poll(waits) else { panic!("the others know it") };
    assert!(member.is_slow());
    let mut probe = pin!(array.probe(DriveId(2)));
    assert!(poll(probe.as_mut()).is_pending());
    for _ in 0..100 {
        assert_eq!(array.look(), []);
        assert_eq!(now(read()).expect("the others know it").1, Source::Spared);
    }
    member.device.quirk.go_on();
    assert!(poll(probe).is_ready() && !member.is_slow());
    assert_eq!(now(read()).expect("it answers again").1, Source::Direct);
}

/// They waited for it as long as it was not given up, if it was among those that were asked first.
#[test]
fn what_is_lost_comes_from_those_who_answer_where_another_one_hangs() {
    let (array, geometry, _member) = hanging_of(geometry(6, 2));
    array.give_up(DriveId(0), DeviceError::Gone);
    let right = rows(&geometry)[0].slice(..SECTOR_BYTES);
    let read = || array.read_checked(&geometry, 0, 0..1, |read| read[..] == right[..]);
    let mut waits = pin!(read());
    assert!(poll(waits.as_mut()).is_pending(), "it may only be late");
    look_until_silent(&array);
    assert!(matches!(poll(waits), Poll::Ready(Ok((_, Source::Missing)))));
    assert!(matches!(poll(pin!(read())), Poll::Ready(Ok((_, Source::Missing)))));
}

/// Reads that went around a slow drive came to one that hangs, and stayed there.
#[test]
fn a_slow_drive_is_read_itself_where_another_one_hangs() {
    let (array, geometry, _member) = hanging();
    let slow = array.member(DriveId(0)).expect("a member");
    while !slow.is_slow() {
        slow.speed.judge(Some(true), Nanos(0));
    }
    let read = || array.read_checked(&geometry, 0, 0..1, |_| true);
    now(read()).expect("one in sixteen goes to the slow one");
    let mut waits = pin!(read());
    assert!(poll(waits.as_mut()).is_pending(), "the other one may only be late");
    look_until_silent(&array);
    assert!(matches!(poll(waits), Poll::Ready(Ok((_, Source::Direct)))));
    for _ in 0..20 {
        assert!(matches!(poll(pin!(read())), Poll::Ready(Ok((_, Source::Direct)))));
    }
}

/// Who waited for what another read was to bring did not see that the drive had become silent.
#[test]
fn who_waits_for_the_read_of_another_goes_on_when_the_drive_is_silent() {
    let (array, geometry, _member) = hanging();
    array.reconstruct_cache.begin();
    let patient = array.read_or_remember(&geometry, 2, &(0..8), Patience::Patient);
    let mut patient = pin!(patient);
    let mut prompt = pin!(array.read_or_remember(&geometry, 2, &(0..8), Patience::Prompt));
    assert!(poll(patient.as_mut()).is_pending() && poll(prompt.as_mut()).is_pending());
    look_until_silent(&array);
    assert!(matches!(poll(prompt), Poll::Ready(Err(DeviceError::TimedOut))));
    assert!(poll(patient).is_pending(), "only this drive may know it");
}

#[test]
fn what_only_a_silent_drive_knows_is_waited_for() {
    let (array, geometry, member) = hanging();
    array.give_up(DriveId(0), DeviceError::Gone);
    let mut waits = pin!(array.read_checked(&geometry, 2, 0..1, |_| true));
    assert!(poll(waits.as_mut()).is_pending());
    look_until_silent(&array);
    assert!(poll(waits.as_mut()).is_pending());
    member.device.quirk.go_on();
    assert!(matches!(poll(waits), Poll::Ready(Ok((_, Source::Direct)))));
}

/// Whoever had pulled the plug of a drive that hangs waited for it all the same.
#[test]
fn nobody_waits_for_a_drive_that_has_been_given_up() {
    let (array, geometry, member) = hanging();
    let mut write = pin!(array.write_rows(&geometry, 4, rows(&geometry).into_iter()));
    let mut flush = pin!(array.flush(DriveId(2)));
    assert!(poll(write.as_mut()).is_pending() && poll(flush.as_mut()).is_pending());
    look_until_silent(&array);
    assert!(poll(write.as_mut()).is_pending(), "without it the rows have less redundancy");
    let [(drive, lasts)] = array.silent_drives()[..] else { panic!("one is") };
    array.give_up_silent(drive, lasts);
    assert_eq!(poll(write), Poll::Ready(Ok(MissingColumns(ColumnMask::default().with(2)))));
    assert!(poll(flush).is_ready());
    assert_eq!(
        member.failure().map(|why| why.to_string()),
        Some("it has answered nothing for 1 s".to_owned())
    );
}

/// By the next look at it the drive may answer again.
#[test]
fn who_hears_of_trouble_is_told_that_a_drive_is_silent_and_that_it_is_given_up_and_nothing_twice() {
    let (array, geometry, _member) = hanging();
    let heard = Rc::new(RefCell::new(Vec::new()));
    let hears = heard.clone();
    array.hear_of_trouble(move |drive, trouble| hears.borrow_mut().push((drive, trouble)));
    let mut waits = pin!(array.read_sectors(&geometry, 2, &(0..1)));
    assert!(poll(waits.as_mut()).is_pending());
    look_until_silent(&array);
    array.look();
    for _ in 0..2 {
        array.give_up(DriveId(2), DeviceError::Gone);
    }
    let given_up = Trouble::GivenUp(DeviceError::Gone.into());
    assert_eq!(*heard.borrow(), [(DriveId(2), Trouble::Silent), (DriveId(2), given_up)]);
}

#[test]
fn nothing_is_looked_at_while_no_drive_owes_anything() {
    let (array, geometry, member) = hanging();
    let mut owes = pin!(array.owes());
    assert!(poll(owes.as_mut()).is_pending());
    let mut waits = pin!(array.read_sectors(&geometry, 2, &(0..1)));
    assert!(poll(waits.as_mut()).is_pending() && poll(owes).is_ready());
    member.device.quirk.go_on();
    assert!(poll(waits).is_ready());
    array.look();
    assert!(poll(pin!(array.owes())).is_pending());
}
