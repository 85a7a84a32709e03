use super::*;

fn entered(newcomers: &Rc<Newcomers>) -> (Place, Arc<Life>) {
    let life = Life::new();
    (newcomers.enter(&life), life)
}

#[test]
fn the_one_that_has_waited_longest_makes_room() {
    let newcomers = Rc::new(Newcomers::default());
    let (_first, first) = entered(&newcomers);
    let (_second, second) = entered(&newcomers);
    assert!(newcomers.make_room());
    assert_eq!((first.stop.get(), second.stop.get()), (Some(EndReason::MadeRoom), None));
    assert_eq!(newcomers.count(), 1, "its place is free at once");
    assert!(newcomers.make_room());
    assert_eq!(second.stop.get(), Some(EndReason::MadeRoom));
    assert!(!newcomers.make_room());
}

#[test]
fn who_waits_for_us_makes_no_room() {
    let newcomers = Rc::new(Newcomers::default());
    let (place, first) = entered(&newcomers);
    let held_up = place.hold_up();
    assert!(!newcomers.make_room());
    let (_second, second) = entered(&newcomers);
    assert!(newcomers.make_room());
    assert_eq!((first.stop.get(), second.stop.get()), (None, Some(EndReason::MadeRoom)));
    drop(held_up);
    assert!(newcomers.make_room());
}

#[test]
fn who_has_finished_is_not_among_them() {
    let newcomers = Rc::new(Newcomers::default());
    let (place, life) = entered(&newcomers);
    drop(place);
    assert!(!newcomers.make_room());
    assert_eq!((newcomers.count(), life.stop.get()), (0, None));
}
