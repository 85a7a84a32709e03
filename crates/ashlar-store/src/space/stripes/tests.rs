use std::collections::BTreeMap;

use ashlar_block::XorShift;

use super::*;

/// Places stripes on the drives with most free chunks as long as there are enough for one, as a
/// pool does. Returns the data columns of each.
fn placed(mut free: Vec<u64>, width: usize, parity: usize) -> Vec<u64> {
    let mut stripes = Vec::new();
    loop {
        free.sort_unstable_by(|one, other| other.cmp(one));
        let columns = free.iter().filter(|free| **free > 0).count().min(width);
        if columns <= parity {
            return stripes;
        }
        free[..columns].iter_mut().for_each(|free| *free -= 1);
        stripes.push((columns - parity) as u64);
    }
}

/// Drives of unequal sizes: some alike, some alone, some tiny.
fn mix(chance: &mut XorShift) -> Vec<u64> {
    let drives = 2 + chance.below(59);
    let classes: Vec<u64> = (0..1 + chance.below(4)).map(|_| 1 + chance.below(400)).collect();
    let class = |chance: &mut XorShift| classes[chance.below(classes.len() as u64) as usize];
    (0..drives)
        .map(|_| if chance.below(4) == 0 { 1 + chance.below(400) } else { class(chance) })
        .collect()
}

/// A width and a parity: of a level whose stripes are as wide as its drives up to a bound, or of
/// one with a fixed width.
fn shape(chance: &mut XorShift, drives: usize) -> (usize, usize) {
    let parity = chance.below(4) as usize;
    let data = if chance.below(2) == 0 { 8 } else { 1 + chance.below(16) as usize };
    ((parity + data).min(drives), parity)
}

fn all(stripes: &Stripes) -> u64 {
    stripes.data(stripes.segments())
}

#[test]
fn equal_drives_hold_what_their_number_says() {
    let stripes = Stripes::new(vec![100; 5], 5, 1);
    assert_eq!((stripes.segments(), all(&stripes), stripes.unusable()), (100, 400, 0));
    let declustered = Stripes::new(vec![100; 6], 3, 1);
    assert_eq!((declustered.segments(), all(&declustered)), (200, 400));
    assert_eq!(all(&Stripes::new(vec![], 2, 1)), 0);
    assert_eq!(all(&Stripes::new(vec![7], 1, 1)), 0, "a mirror of one drive holds nothing");
}

/// The larger drives were used as far as the smallest one went.
#[test]
fn stripes_get_narrower_as_drives_are_exhausted() {
    let stripes = Stripes::new(vec![600, 600, 600, 600, 300], 5, 1);
    assert_eq!(stripes.segments(), 600);
    assert_eq!(stripes.data(300), 300 * 4);
    assert_eq!(all(&stripes), 300 * 4 + 300 * 3);
    assert_eq!(stripes.narrowest_data(), 3);
}

#[test]
fn no_stripe_goes_without_its_parity() {
    let stripes = Stripes::new(vec![250, 100, 100], 3, 1);
    assert_eq!((stripes.segments(), all(&stripes), stripes.unusable()), (100, 200, 150));
}

/// Within one stripe of each width.
#[test]
fn who_places_on_the_drives_with_most_room_reaches_what_is_said() {
    let mut chance = XorShift::new(20);
    for round in 0..2000 {
        let chunks = mix(&mut chance);
        let (width, parity) = shape(&mut chance, chunks.len());
        let said = all(&Stripes::new(chunks.clone(), width, parity));
        let had: u64 = placed(chunks.clone(), width, parity).iter().sum();
        let of_each_width: u64 = (1..=width.saturating_sub(parity) as u64).sum();
        assert!(
            had <= said,
            "{round}: {had} columns of {said} on {chunks:?}, {width} wide, parity {parity}"
        );
        assert!(
            said - had <= of_each_width,
            "{round}: {had} columns of {said} on {chunks:?}, {width} wide, parity {parity}"
        );
    }
}

/// Of all ways to place stripes the best one: tried one after the other.
fn best(free: &mut [u64], width: usize, parity: usize, known: &mut BTreeMap<Vec<u64>, u64>) -> u64 {
    free.sort_unstable();
    if let Some(best) = known.get(free) {
        return *best;
    }
    let mut most = 0;
    for drives in 1u32..1 << free.len() {
        let columns = drives.count_ones() as usize;
        let taken: Vec<usize> = (0..free.len()).filter(|drive| drives >> drive & 1 == 1).collect();
        if columns > width || columns <= parity || taken.iter().any(|drive| free[*drive] == 0) {
            continue;
        }
        let mut left = free.to_vec();
        taken.iter().for_each(|drive| left[*drive] -= 1);
        most = most.max((columns - parity) as u64 + best(&mut left, width, parity, known));
    }
    known.insert(free.to_vec(), most);
    most
}

#[test]
fn no_placement_whatever_holds_more_or_less() {
    let mut chance = XorShift::new(7);
    for _ in 0..60 {
        let chunks: Vec<u64> = (0..2 + chance.below(3)).map(|_| 1 + chance.below(5)).collect();
        for (width, parity) in [(2, 1), (3, 1), (4, 1), (3, 2), (4, 0)] {
            let (width, said) =
                (width.min(chunks.len()), all(&Stripes::new(chunks.clone(), width, parity)));
            let most = best(&mut chunks.clone(), width, parity, &mut BTreeMap::new());
            assert_eq!(said, most, "{chunks:?}, {width} wide, parity {parity}");
        }
    }
}

/// A drive of half the size of the others took a third of the room away, and the pool was full.
#[test]
fn a_drive_more_of_any_size_makes_nothing_less() {
    let mut chance = XorShift::new(300);
    for round in 0..2000 {
        let mut chunks = mix(&mut chance);
        let parity = 1 + chance.below(3) as usize;
        let data = if chance.below(2) == 0 { 8 } else { 1 + chance.below(16) as usize };
        let of = |chunks: &[u64]| Stripes::new(chunks.to_vec(), data + parity, parity);
        let before = of(&chunks);
        chunks.push(1 + chance.below(500));
        let after = of(&chunks);
        assert!(after.segments() >= before.segments(), "{round}: {chunks:?}");
        for nth in [1, before.segments() / 2, before.segments()] {
            assert!(after.data(nth) >= before.data(nth), "{round}: {nth} stripes of {chunks:?}");
            let kept = chance.below(nth + 1);
            let rest = |stripes: &Stripes| stripes.data(nth) - stripes.data(kept);
            assert!(
                rest(&after) >= rest(&before),
                "{round}: after {kept} of {nth} stripes of {chunks:?}"
            );
        }
    }
}

/// With more equal drives than a stripe is wide it was one column, and a pool without room let no
/// segment be collected of which more than an eighth lived.
#[test]
fn the_narrowest_stripe_of_equal_drives_is_a_whole_one_however_many_there_are() {
    let narrowest =
        |chunks: Vec<u64>, width, parity| Stripes::new(chunks, width, parity).narrowest_data();
    assert_eq!(narrowest(vec![1000; 10], 10, 2), 8);
    assert_eq!(narrowest(vec![1000; 12], 10, 2), 8);
    assert_eq!(narrowest(vec![1000; 60], 10, 2), 8);
    assert_eq!(narrowest(vec![100; 6], 3, 1), 2);
    assert_eq!(narrowest([vec![1000; 20], vec![100]].concat(), 10, 2), 8);
    assert_eq!(narrowest(vec![600, 600, 600, 600, 300], 5, 1), 3);
}
