use super::{Answer, Model};

fn written(version: u64, answer: Answer) -> Model {
    let mut model = Model::new(100, true);
    let ticket = model.begin(10..14, version, true).expect("nothing else is on its way");
    model.end(ticket, answer);
    model
}

#[test]
fn an_acknowledged_write_is_all_that_may_be_read() {
    let mut model = written(7, Answer::Done);
    assert!(!model.read(10, 0, true));
    assert!(model.read(10, 7, true));
    assert!(model.read(9, 0, true));
}

#[test]
fn a_failed_write_is_decided_by_the_first_read() {
    let mut model = written(7, Answer::Failed);
    assert!(model.read(10, 0, true));
    assert!(!model.read(10, 7, true));
    assert!(model.read(11, 7, true));
    assert!(!model.read(11, 0, true));
}

#[test]
fn a_refused_write_may_never_appear() {
    assert!(!written(7, Answer::Refused).read(10, 7, true));
}

#[test]
fn a_late_write_may_come_after_a_read_but_not_go_again() {
    let mut model = written(7, Answer::Late);
    assert!(model.read(10, 0, true));
    assert!(model.read(10, 7, true));
    assert!(!model.read(10, 0, true));
}

#[test]
fn a_late_write_is_decided_after_a_start() {
    let mut model = written(7, Answer::Late);
    model.stop();
    assert!(model.read(10, 0, true));
    assert!(!model.read(10, 7, true));
}

#[test]
fn a_write_that_the_power_cut_split_is_found() {
    let mut model = Model::new(100, true);
    model.begin(10..14, 7, true).expect("nothing else is on its way");
    model.stop();
    (10..13).for_each(|block| assert!(model.read(block, 7, true)));
    assert!(model.read(13, 0, true));
    assert!(model.check_atomic().is_err());
}

#[test]
fn what_lies_behind_a_smaller_size_is_gone() {
    let mut model = written(7, Answer::Done);
    let ticket = model.begin_resize(12).expect("nothing else is on its way");
    model.stop();
    model.see_size(12).expect("one of the two");
    assert!(model.read(11, 7, true));
    assert!(!model.read(12, 7, true));
    assert_eq!(model.usable_blocks(), 12);
    let _ = ticket;
}

/// A slow read met two writes one after the other and returned the first: neither what was there
/// when it began, nor what is there when it ends.
#[test]
fn a_read_may_return_whatever_was_there_while_it_went_on() {
    let mut model = written(7, Answer::Done);
    let slow = model.begin_read(10..12);
    for version in [8, 9] {
        let ticket = model.begin(10..11, version, true).expect("nothing else is on its way");
        model.end(ticket, Answer::Done);
    }
    let later = model.begin_read(10..11);
    assert_eq!(model.end_read(slow, &[8, 7]), Ok(()));
    assert!(model.end_read(later, &[8]).is_err(), "that was gone before it began");
}

/// A slow read met zeros, then a write, then a trim that was late: the zeros were the old ones, and
/// the write stayed.
#[test]
fn zeros_from_before_a_write_do_not_say_that_a_late_trim_has_come() {
    let mut model = Model::new(100, true);
    let slow = model.begin_read(10..11);
    for (version, answer) in [(7, Answer::Done), (0, Answer::Late)] {
        let ticket = model.begin(10..11, version, true).expect("nothing else is on its way");
        model.end(ticket, answer);
    }
    assert_eq!(model.end_read(slow, &[0]), Ok(()));
    assert!(model.read(10, 7, true));
}

/// Seed 11002249: a write came late, and a second read saw it before a slower read ended with the
/// zeros from before. Those were taken for the late trim that had been begun after the write, and
/// what the write left was wrong from then on.
#[test]
fn zeros_from_before_a_late_write_was_read_do_not_say_that_a_later_trim_has_come() {
    let mut model = written(7, Answer::Late);
    let trim = model.begin(10..14, 0, false).expect("nothing else is on its way");
    model.end(trim, Answer::Late);
    let slow = model.begin_read(10..11);
    let fast = model.begin_read(10..11);
    assert_eq!(model.end_read(fast, &[7]), Ok(()));
    assert_eq!(model.end_read(slow, &[0]), Ok(()));
    assert!(model.read(10, 7, true));
}

#[test]
fn a_read_from_before_a_write_that_failed_does_not_say_that_it_is_not_there() {
    let mut model = written(7, Answer::Done);
    let write = model.begin(10..14, 8, false).expect("nothing else is on its way");
    let slow = model.begin_read(10..11);
    model.end(write, Answer::Failed);
    assert_eq!(model.end_read(slow, &[7]), Ok(()));
    assert!(model.read(10, 8, true));
}

#[test]
fn zeros_between_late_changes_leave_the_later_ones_possible() {
    let mut model = written(6, Answer::Done);
    for version in [0, 7, 0] {
        let ticket = model.begin(10..11, version, true).expect("nothing else is on its way");
        model.end(ticket, Answer::Late);
    }
    assert!(model.read(10, 0, true));
    assert!(model.read(10, 7, true));
    assert!(!model.read(10, 6, true));
}

/// A read of blocks 8 to 16 that ends with these versions, while 10 to 14 go from 7 to 9.
fn read_meanwhile(versions: [u64; 8], answer: Option<Answer>) -> Result<(), String> {
    let mut model = written(7, Answer::Done);
    let read = model.begin_read(8..16);
    let ticket = model.begin(10..14, 9, true).expect("nothing else is on its way");
    if let Some(answer) = answer {
        model.end(ticket, answer);
    }
    model.end_read(read, &versions)
}

#[test]
fn a_read_sees_all_of_a_write_that_goes_on_or_nothing() {
    for answer in [None, Some(Answer::Done)] {
        assert!(read_meanwhile([0, 0, 7, 7, 7, 7, 0, 0], answer).is_ok());
        assert!(read_meanwhile([0, 0, 9, 9, 9, 9, 0, 0], answer).is_ok());
        let torn =
            read_meanwhile([0, 0, 9, 9, 7, 9, 0, 0], answer).expect_err("a part of it is old");
        assert!(torn.contains("not block 12"), "{torn}");
    }
}
