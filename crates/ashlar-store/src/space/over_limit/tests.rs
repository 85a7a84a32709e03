use super::*;

const WHOLE: Held = Held { live: 600, limit: 640, most: 800, lacks_drives: false };
const DEGRADED: Held = Held { live: 600, limit: 480, most: 700, lacks_drives: true };

fn allowed_after(steps: &[Held]) -> Vec<u64> {
    let over = OverLimit::default();
    let allowed = |held: &Held| {
        over.refresh(*held);
        over.allowed(held.limit)
    };
    steps.iter().map(allowed).collect()
}

/// Level 5 of four drives, 77 % used: when one was lost, all writes were refused, overwrites too.
#[test]
fn a_pool_that_holds_more_than_its_drives_may_takes_overwrites() {
    assert_eq!(allowed_after(&[WHOLE, DEGRADED]), [640, 615]);
    assert_eq!(allowed_after(&[DEGRADED]), [615], "after a start, too");
}

#[test]
fn the_ceiling_falls_with_what_lives_and_never_rises() {
    let lives = |live| Held { live, ..DEGRADED };
    let steps = [WHOLE, DEGRADED, lives(610), lives(590), lives(612), lives(470), lives(490)];
    assert_eq!(allowed_after(&steps), [640, 615, 615, 605, 605, 485, 485]);
}

#[test]
fn no_more_is_allowed_than_could_live() {
    assert_eq!(allowed_after(&[WHOLE, Held { most: 605, ..DEGRADED }]), [640, 605]);
    assert_eq!(allowed_after(&[WHOLE, Held { most: 400, ..DEGRADED }]), [640, 480], "nothing more");
}

/// With the first trim that made the limit hold, the room for overwrites was gone.
#[test]
fn the_ceiling_goes_once_it_is_no_higher_than_the_limit() {
    let lives = |live| Held { live, ..DEGRADED };
    let steps = [WHOLE, DEGRADED, lives(480), lives(465), lives(490)];
    assert_eq!(allowed_after(&steps), [640, 615, 495, 480, 480]);
}

/// Three drives of which none was missing any more held more than three may.
#[test]
fn a_loss_that_is_forgotten_or_made_good_by_a_smaller_drive_leaves_the_ceiling() {
    let forgotten = Held { lacks_drives: false, ..DEGRADED };
    assert_eq!(allowed_after(&[WHOLE, DEGRADED, forgotten]), [640, 615, 615]);
    let smaller = Held { limit: 560, most: 750, ..forgotten };
    assert_eq!(allowed_after(&[WHOLE, DEGRADED, smaller]), [640, 615, 615]);
    let as_large = Held { limit: 640, most: 800, ..forgotten };
    assert_eq!(allowed_after(&[WHOLE, DEGRADED, as_large, DEGRADED]), [640, 615, 640, 615]);
}

#[test]
fn a_second_loss_lowers_the_ceiling() {
    let again = Held { limit: 320, most: 607, ..DEGRADED };
    assert_eq!(allowed_after(&[WHOLE, DEGRADED, again]), [640, 615, 607]);
}

#[test]
fn a_pool_with_all_its_drives_has_its_limit_though_maps_take_it_beyond() {
    let over = Held { live: 645, ..WHOLE };
    assert_eq!(allowed_after(&[over, over, Held { limit: 600, ..over }]), [640, 640, 600]);
    let reached = Held { live: 481, ..DEGRADED };
    let degraded = Held { live: 400, ..DEGRADED };
    assert_eq!(
        allowed_after(&[WHOLE, degraded, reached]),
        [640, 480, 480],
        "reached since the loss"
    );
}
