use std::cell::RefCell;

use ashlar_format::location::Codec;
use ashlar_raid::{ChunkAddr, Geometry};

use super::*;

const DRIVES: [DriveId; 5] = [DriveId(0), DriveId(1), DriveId(2), DriveId(3), DriveId(4)];

fn segments() -> Segments {
    Segments::new(
        Stripe { data: 4, parity: 1 },
        64,
        DRIVES.into_iter().map(|drive| (drive, 10)),
        Numbers::fresh(1 << 10),
    )
}

fn open(segments: &mut Segments, claim: Claim) -> Option<SegmentId> {
    segments.open(Shape::Striped, SegmentKind::Data, claim).map(|(id, _)| id)
}

#[test]
fn only_what_a_durable_window_names_may_be_opened() {
    let mut segments = segments();
    let added = segments.form_window(Shape::Striped, 4, &DRIVES, Lsn(64));
    assert_eq!(open(&mut segments, Claim::Last), None);
    segments.window_durable(Shape::Striped, added);
    assert!(open(&mut segments, Claim::Last).is_some());
}

/// A checkpoint took the last one, and the next start found none for its root.
#[test]
fn the_last_of_the_window_are_not_for_everybody() {
    let mut segments = segments();
    let added = segments.form_window(Shape::Striped, 9, &DRIVES, Lsn(64));
    segments.window_durable(Shape::Striped, added);
    let mut opened = |claim| std::iter::from_fn(|| open(&mut segments, claim)).count();
    assert_eq!(opened(Claim::Host), 4);
    assert_eq!(opened(Claim::Upkeep), 1);
    assert_eq!(opened(Claim::LastResort), 2);
    assert_eq!(opened(Claim::Checkpoint), 1);
    assert_eq!(opened(Claim::Last), 1);
}

/// Drives were paired: the first with the second, the third with the fourth. A lost one was
/// restored from a single drive, and what collection gave back after that was on a single one.
#[test]
fn what_a_drive_holds_is_mirrored_on_all_others() {
    let drives: Vec<DriveId> = (0..4).map(DriveId).collect();
    let stripe = Stripe { data: 1, parity: 1 };
    let mut segments = Segments::new(
        stripe,
        64,
        drives.iter().map(|drive| (*drive, 100)),
        Numbers::fresh(1 << 10),
    );
    segments.form_window(Shape::Striped, 100, &drives, Lsn(64));
    let mut pairs = BTreeMap::new();
    for (_, segment) in segments.iter() {
        let mut pair = [0, 1].map(|column| segment.geometry.columns[column].drive);
        pair.sort_unstable();
        *pairs.entry(pair).or_insert(0) += 1;
    }
    assert_eq!(pairs.len(), 6, "{pairs:?}");
    assert!(pairs.values().all(|count| (8..=25).contains(count)), "{pairs:?}");
}

#[test]
fn stripes_rotate_and_narrow_but_keep_their_parity() {
    let mut segments = segments();
    segments.form_window(Shape::Striped, 2, &DRIVES, Lsn(64));
    let firsts: Vec<DriveId> =
        segments.iter().map(|(_, segment)| segment.geometry.columns[0].drive).collect();
    assert_ne!(firsts[0], firsts[1]);
    let narrow = segments.form_window(Shape::Striped, 3, &DRIVES[..3], Lsn(64));
    let geometry = &segments.get(narrow[0]).expect("formed").geometry;
    assert_eq!((geometry.data(), geometry.parity()), (2, 1));
    let alone = segments.form_window(Shape::Striped, 4, &DRIVES[..1], Lsn(64));
    assert_eq!(
        segments.get(alone[0]).expect("formed").geometry.parity(),
        0,
        "one drive has no room for parity"
    );
}

#[test]
fn a_segment_is_reclaimable_only_when_nothing_needs_it() {
    let segments = Rc::new(RefCell::new(segments()));
    let added = segments.borrow_mut().form_window(Shape::Striped, 1, &DRIVES, Lsn(64));
    segments.borrow_mut().window_durable(Shape::Striped, added);
    let id = open(&mut segments.borrow_mut(), Claim::Last).expect("one was formed");
    let location = Location::new(id, 0, 64, 100, Codec::Lz4);
    let reclaimable = |floor| segments.borrow().reclaimable(Lsn(floor)).contains(&id);
    segments.borrow_mut().appended(id, Lsn(64), Lsn(128), 1);
    assert!(!reclaimable(1000), "it is open");
    segments.borrow_mut().seal(id, 1);
    segments.borrow_mut().credit(location);
    assert!(!reclaimable(1000), "the map names it");
    segments.borrow_mut().discard(id, location.into());
    assert!(!reclaimable(128), "a batch in it is to be replayed");
    let (pin, _) = pin(&segments, id).expect("it exists");
    assert!(!reclaimable(1000), "it is being read");
    drop(pin);
    assert!(reclaimable(1000));
}

#[test]
fn stale_names_of_condemned_and_freed_segments_count_for_nothing() {
    let mut segments = segments();
    let id = segments.form_window(Shape::Striped, 1, &DRIVES, Lsn(64))[0];
    let location = Location::new(id, 0, 64, 100, Codec::Lz4);
    segments.credit(location);
    segments.condemn(id);
    segments.discard(id, location.into());
    segments.free(id);
    segments.discard(id, location.into());
    segments.credit(location);
}

#[test]
fn numbers_do_not_come_back_soon() {
    let mut segments = segments();
    let first = segments.form_window(Shape::Striped, 1, &DRIVES, Lsn(64))[0];
    segments.free(first);
    let second = segments.form_window(Shape::Striped, 1, &DRIVES, Lsn(64))[0];
    assert_ne!(first, second);
}

#[test]
fn a_table_of_a_million_segments_is_loaded_in_steps_as_many() {
    // Each chunk was looked for among all that were free: with so many, a start took minutes.
    const COUNT: u32 = 1 << 20;
    let drive = DriveId(0);
    let numbers = Numbers::fresh(1 << 22);
    let mut segments =
        Segments::new(Stripe { data: 1, parity: 0 }, 64, [(drive, COUNT + 2)].into_iter(), numbers);
    let entry = |chunk: u32| {
        let geometry = Geometry::new(Box::new([ChunkAddr { drive, chunk }]), 0);
        Segment::reserved(geometry, SegmentKind::Data, Lsn(64)).table_entry(SegmentId(chunk))
    };
    segments.load((1..=COUNT).map(entry).collect()).expect("they can be");
    assert_eq!(segments.most_free(&[drive]), 2);
    assert_eq!(segments.iter().count(), COUNT as usize);
}

/// A read was under way when its last column left a drive, the drive was removed, and another came
/// to its number: its chunk was free twice, and two segments got it.
#[test]
fn what_is_still_read_of_a_drive_that_has_gone_is_not_free_on_another_of_its_number() {
    let (drives, stripe) = ([0, 1, 2].map(DriveId), Stripe { data: 1, parity: 1 });
    let mut segments = Segments::new(
        stripe,
        64,
        drives.map(|drive| (drive, 10)).into_iter(),
        Numbers::fresh(1 << 10),
    );
    segments.form_window(Shape::Striped, 1, &drives, Lsn(64));
    let (id, reader) =
        segments.iter().map(|(id, segment)| (id, segment.geometry.clone())).next().expect("one");
    let from = reader.columns[0].drive;
    let beside: Vec<DriveId> = drives
        .into_iter()
        .filter(|drive| reader.columns.iter().all(|column| column.drive != *drive))
        .collect();
    segments.begin_move(id, &[0], &beside).expect("there is room");
    segments.end_move(id, Lsn(64));
    let retired = segments.take_retired();
    segments.release(retired);
    segments.remove_drive(from, stripe);
    segments.add_drive(from, 10, stripe);
    drop(reader);
    let retired = segments.take_retired();
    segments.release(retired);
    assert_eq!(segments.most_free(&[from]), 10);
}

/// A start that had used up its window wrote pages of the table to chunks that the root before
/// still needed: what is freed is nobody's before a root says so.
#[test]
fn the_chunks_of_a_removed_segment_are_nobodys_until_they_are_given_back() {
    let mut segments = segments();
    let added = segments.form_window(Shape::Striped, 10, &DRIVES, Lsn(64));
    assert_eq!(segments.placeable(&DRIVES), 0);
    let removed = segments.remove(added[3]);
    assert!(segments.get(added[3]).is_none());
    assert_eq!(segments.placeable(&DRIVES), 0);
    segments.give_back(removed.geometry.columns.iter().copied());
    assert_eq!(segments.placeable(&DRIVES), 1);
}

/// Hosts waited for a checkpoint before half of the window was used.
#[test]
fn what_is_kept_for_the_table_is_no_part_of_the_window_of_hosts() {
    let opened_and_low = |of_table: usize| {
        let chunks = DRIVES.into_iter().map(|drive| (drive, 100));
        let mut segments =
            Segments::new(Stripe { data: 4, parity: 1 }, 64, chunks, Numbers::fresh(1 << 10));
        segments.keep_for_table(of_table);
        let added = segments.form_window(Shape::Striped, 20 + of_table, &DRIVES, Lsn(64));
        segments.window_durable(Shape::Striped, added);
        let is_low_after = (0..).find(|_| {
            open(&mut segments, Claim::Host);
            segments.window_low()
        });
        let rest = std::iter::from_fn(|| open(&mut segments, Claim::Host)).count();
        (is_low_after, rest)
    };
    assert_eq!(opened_and_low(0), opened_and_low(40));
}

/// A hold read leaves in two rounds. Meanwhile collection moved one of the second round, and a
/// checkpoint noted the segment that it had been in: the read pinned it, and the checkpoint found
/// that it was about to free a segment that was being read.
#[test]
fn nobody_pins_a_segment_that_a_checkpoint_may_be_about_to_free() {
    let mut all = segments();
    let added = all.form_window(Shape::Striped, 9, &DRIVES, Lsn(64));
    all.window_durable(Shape::Striped, added);
    let ids = [(); 2].map(|()| open(&mut all, Claim::Host).expect("there are nine"));
    all.seal(ids[0], 0);
    let all = Rc::new(RefCell::new(all));
    let are_pinned = || ids.map(|id| pin(&all, id).is_some());
    assert_eq!(are_pinned(), [true, true]);
    all.borrow_mut().note();
    assert_eq!(are_pinned(), [false, true], "nothing lives in what is sealed");
    all.borrow_mut().end_note();
    assert_eq!(are_pinned(), [true, true]);
}

/// Hosts overwrote the rest of what collection had read of its victim, while a checkpoint was on
/// its way: the next read of the victim found it gone.
#[test]
fn who_reads_a_segment_may_pin_it_again_whatever_a_checkpoint_does() {
    let mut all = segments();
    let added = all.form_window(Shape::Striped, 9, &DRIVES, Lsn(64));
    all.window_durable(Shape::Striped, added);
    let id = open(&mut all, Claim::Host).expect("there are nine");
    all.seal(id, 0);
    let all = Rc::new(RefCell::new(all));
    let first = pin(&all, id).expect("no checkpoint is on its way");
    all.borrow_mut().note();
    assert!(pin(&all, id).is_some());
    drop(first);
    assert!(pin(&all, id).is_none(), "nobody reads it any more");
}
