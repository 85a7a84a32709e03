use super::*;

/// A drive that takes a time for each read.
struct TakesItsTime {
    clock: Rc<Cell<u64>>,
    read_us: Cell<u64>,
}

impl Quirk for TakesItsTime {
    async fn before(&self, op: DeviceOp, _: Range<u64>) -> Result<(), DeviceError> {
        if op == DeviceOp::Read {
            self.clock.set(self.clock.get() + self.read_us.get() * 1000);
        }
        Ok(())
    }
}

/// Reads every column of a stripe in turn for so many seconds. Returns how often the column of
/// `watched` was spared.
fn read_for(
    array: &Array<Quirky<TakesItsTime>>,
    clock: &Cell<u64>,
    seconds: u64,
    watched: usize,
) -> (u64, u64) {
    let (geometry, end) = (geometry(4, 1), clock.get() + seconds * 1_000_000_000);
    let (mut reads, mut spared) = (0, 0);
    while clock.get() < end {
        for column in 0..4 {
            let right = rows(&geometry)[column].slice(..SECTOR_BYTES);
            let read =
                now(array.read_checked(&geometry, column, 0..1, |read| read[..] == right[..]));
            let (_, source) = read.expect("all drives are there");
            reads += u64::from(column == watched);
            spared += u64::from(column == watched && source == Source::Spared);
        }
    }
    (reads, spared)
}

/// Four drives, with a stripe on them.
fn of_four() -> (Array<Quirky<TakesItsTime>>, Rc<Cell<u64>>) {
    let clock = Rc::new(Cell::new(0));
    let layout = DriveLayout { chunks_start: 1 << 20, chunk_bytes: CHUNK_BYTES, chunk_count: 8 };
    let drive = || Quirky::new(TakesItsTime { clock: clock.clone(), read_us: Cell::new(100) });
    let members = (0..4).map(|_| Some(Rc::new(Member::new(drive(), layout)))).collect();
    let time = clock.clone();
    let array = Array::new(members).with_clock(move || Nanos(time.get()));
    let geometry = geometry(4, 1);
    let written = now(array.write_rows(&geometry, 0, rows(&geometry).into_iter()));
    assert_eq!(written, Ok(MissingColumns(ColumnMask::default())));
    (array, clock)
}

#[test]
fn a_drive_that_is_slow_is_found_within_half_a_minute_and_read_around_until_it_is_well() {
    let (array, clock) = of_four();
    let slow = || array.member(DriveId(2)).expect("a member");
    assert_eq!(read_for(&array, &clock, 30, 2).1, 0);
    slow().device.quirk.read_us.set(20_000);
    read_for(&array, &clock, 30, 2);
    assert!(
        slow().is_slow()
            && (0..4).filter(|drive| array.member(DriveId(*drive)).unwrap().is_slow()).count() == 1
    );
    let (reads, spared) = read_for(&array, &clock, 10, 2);
    assert_eq!(spared * 16 / reads, 15, "one read in sixteen looks whether it is well");
    slow().device.quirk.read_us.set(100);
    read_for(&array, &clock, 30, 2);
    assert!(!slow().is_slow());
    assert_eq!(read_for(&array, &clock, 5, 2).1, 0);
}

/// Nothing was judged below six reads a second of each drive.
#[test]
fn a_drive_that_is_slow_is_found_within_half_a_minute_at_two_reads_a_second() {
    let (array, clock) = of_four();
    let slow = array.member(DriveId(2)).expect("a member");
    let read_slowly = |seconds: u64| {
        for _ in 0..2 * seconds {
            let next = clock.get() + 500_000_000;
            let geometry = geometry(4, 1);
            for column in 0..4 {
                now(array.read_checked(&geometry, column, 0..1, |_| true))
                    .expect("all drives are there");
            }
            clock.set(next.max(clock.get()));
        }
    };
    read_slowly(60);
    slow.device.quirk.read_us.set(20_000);
    read_slowly(30);
    assert!(slow.is_slow());
    let others = [0, 1, 3].map(|drive| array.member(DriveId(drive)).expect("a member").is_slow());
    assert_eq!(others, [false; 3]);
}
