use super::*;

fn beat(epoch: u64, session: u64, count: u64) -> Beat {
    Beat {
        pool: PoolUuid([1; 16]),
        is_open: true,
        holder: [7; 16],
        epoch,
        session,
        count,
        written_at: 0,
        holder_name: "one".to_owned(),
    }
}

#[test]
fn a_beat_says_whose_the_pool_is_unless_it_is_of_an_opening_that_is_over() {
    let own = beat(5, 50, 3);
    assert_eq!(view(&own, Some(&beat(5, 50, 2))), View::Ours);
    assert_eq!(view(&own, Some(&beat(6, 60, 0))), View::Theirs);
    assert_eq!(view(&own, Some(&beat(5, 51, 0))), View::Theirs, "two that opened it at once");
    // A drive that was away, or lost a write.
    assert_eq!(view(&own, Some(&beat(4, 40, 9))), View::Nothing);
    assert_eq!(view(&own, Some(&Beat { pool: PoolUuid([2; 16]), ..beat(9, 90, 0) })), View::Nothing);
    assert_eq!(view(&own, None), View::Nothing);
}

#[test]
fn whoever_opens_a_pool_has_one_of_the_drives_that_were_looked_at() {
    for members in 1..=16_usize {
        for parity in 0..members.min(5) {
            let looked_at = looks_needed(parity, members, members);
            // All but as many as the level survives, and more than half.
            let others_at_least = (members - parity).max(members / 2 + 1).min(members);
            assert!(looked_at + others_at_least > members, "{members} drives, {parity} parity");
            // One that hangs stops nobody, where it can be done without.
            assert!(members - parity.min(1) >= looked_at, "{members} drives, {parity} parity");
        }
    }
    assert_eq!(looks_needed(2, 6, 1), 1, "those that are left");
}

#[test]
fn a_pool_is_as_sure_as_the_oldest_look_that_is_needed() {
    let looks = || vec![Nanos(5), Nanos(9), Nanos(7)];
    assert_eq!(seen_on(looks(), 1), Some(Nanos(9)));
    assert_eq!(seen_on(looks(), 2), Some(Nanos(7)));
    assert_eq!(seen_on(looks(), 4), None);
    assert_eq!(seen_on(looks(), 0), None);
}

/// Each of two that had been refused it took its own beat for the last one, and opened the pool at once.
#[test]
fn who_wanted_a_pool_at_once_with_another_one_does_not_take_it_for_its_own() {
    let (here, there) =
        (Holder { id: [7; 16], name: String::new() }, Holder { id: [8; 16], name: String::new() });
    let one = beat(5, 50, 3);
    let other = Beat { holder: there.id, ..beat(5, 51, 0) };
    for before in [[Some(one.clone()), Some(other.clone())], [Some(other.clone()), Some(one.clone())]] {
        assert_eq!(last_before(&before, &here), Some(&other));
        assert_eq!(last_before(&before, &there), Some(&one));
    }
    let later = beat(6, 60, 0);
    assert_eq!(last_before(&[Some(later.clone()), Some(other)], &here), Some(&later));
}

#[test]
fn a_drive_that_cannot_be_read_now_and_then_is_no_sign_of_life() {
    let (one, next) = (Some(beat(5, 50, 3)), Some(beat(5, 50, 4)));
    assert!(!has_changed(&[one.clone(), one.clone()], &[one.clone(), None]));
    assert!(has_changed(&[one.clone(), one.clone()], &[one.clone(), next]));
    assert!(has_changed(&[one.clone(), None], &[one.clone(), one]));
}

#[test]
fn a_long_name_is_cut_between_letters() {
    assert_eq!(cut("abc", 5), "abc");
    assert_eq!(cut("aäb", 2), "a");
}
