use futures_util::FutureExt;

use super::*;

fn now<'a>(ranges: &'a Ranges, blocks: Range<u64>, mode: Mode) -> Option<Taken<'a>> {
    ranges.take(blocks, mode).now_or_never()
}

#[test]
fn whole_block_writes_go_side_by_side() {
    let ranges = Ranges::default();
    let _first = now(&ranges, 0..8, Mode::Shared).expect("free");
    let _second = now(&ranges, 4..6, Mode::Shared).expect("shared");
}

#[test]
fn a_read_modify_write_has_its_blocks_alone() {
    let ranges = Ranges::default();
    let alone = now(&ranges, 4..5, Mode::Alone).expect("free");
    let _beside = now(&ranges, 5..6, Mode::Alone).expect("other blocks");
    let mut waiting = Box::pin(ranges.take(0..8, Mode::Shared));
    assert!((&mut waiting).now_or_never().is_none());
    drop(alone);
    assert!((&mut waiting).now_or_never().is_none(), "block 5 is still taken");
    drop(_beside);
    assert!(waiting.now_or_never().is_some());
}

#[test]
fn one_that_waits_is_not_overtaken() {
    let ranges = Ranges::default();
    let first = now(&ranges, 0..1, Mode::Shared).expect("free");
    let mut alone = Box::pin(ranges.take(0..1, Mode::Alone));
    assert!((&mut alone).now_or_never().is_none());
    let mut later = Box::pin(ranges.take(0..1, Mode::Shared));
    assert!((&mut later).now_or_never().is_none());
    drop(first);
    let alone = alone.now_or_never().expect("its turn");
    assert!((&mut later).now_or_never().is_none());
    drop(alone);
    assert!(later.now_or_never().is_some());
}

#[test]
fn one_that_gives_up_lets_those_behind_it_go_on() {
    let ranges = Ranges::default();
    let _first = now(&ranges, 0..1, Mode::Shared).expect("free");
    let mut alone = Box::pin(ranges.take(0..1, Mode::Alone));
    assert!((&mut alone).now_or_never().is_none());
    let mut later = Box::pin(ranges.take(0..1, Mode::Shared));
    assert!((&mut later).now_or_never().is_none());
    drop(alone);
    assert!(later.now_or_never().is_some());
}

#[test]
fn thousands_that_wait_for_one_block_are_served_in_order_with_one_pass_for_each() {
    let ranges = Ranges::default();
    let mut held = now(&ranges, 7..8, Mode::Alone);
    let elsewhere: Vec<_> =
        (100..4100).map(|block| now(&ranges, block..block + 1, Mode::Alone)).collect();
    assert!(elsewhere.iter().all(Option::is_some));
    let mut waiting: Vec<_> = (0..4000).map(|_| Box::pin(ranges.take(7..8, Mode::Alone))).collect();
    assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
    let mut waiting = waiting.into_iter();
    while held.take().is_some() {
        held = waiting.next().map(|next| next.now_or_never().expect("its turn"));
        assert!(
            waiting.as_mut_slice().first_mut().is_none_or(|later| later.now_or_never().is_none())
        );
    }
}

fn conflict((one, as_one): &(Range<u64>, Mode), (other, as_other): &(Range<u64>, Mode)) -> bool {
    let overlap = one.start < other.end && other.start < one.end;
    overlap && (*as_one == Mode::Alone || *as_other == Mode::Alone)
}

#[test]
fn a_claim_waits_for_earlier_ones_that_it_conflicts_with_and_for_no_others() {
    let mut rng = ashlar_block::XorShift::new(7);
    for _ in 0..200 {
        let ranges = Ranges::default();
        // In order of coming; the guard once it is granted.
        let mut claims = Vec::new();
        for _ in 0..60 {
            if !claims.is_empty() && rng.below(3) == 0 {
                let at = rng.below(claims.len() as u64) as usize;
                drop(claims.remove(at));
            } else {
                let start = rng.below(16);
                let mode = if rng.below(4) == 0 { Mode::Alone } else { Mode::Shared };
                let what = (start..start + 1 + rng.below(4), mode);
                claims.push((what.clone(), Box::pin(ranges.take(what.0, what.1)), None));
            }
            for (_, future, granted) in claims.iter_mut().filter(|(.., granted)| granted.is_none())
            {
                *granted = future.now_or_never();
            }
            for (at, (what, _, granted)) in claims.iter().enumerate() {
                let waits = claims[..at].iter().any(|(earlier, ..)| conflict(earlier, what));
                assert_eq!(granted.is_some(), !waits, "{what:?}");
            }
        }
    }
}
