use ashlar_block::Cause;
use futures_util::FutureExt;

use super::*;

/// What the answer is, if it has come.
fn look(expected: &mut Expected<'_>) -> Option<Result<(), Cause>> {
    expected.now_or_never().map(|answer| answer.map_err(|error| error.cause))
}

#[test]
fn an_answer_reaches_who_waits_for_it() {
    let answers = Answers::default();
    let ((first, mut one), (second, mut two)) = (answers.expect(), answers.expect());
    assert_eq!(look(&mut one), None);
    answers.answer(second, Err(Cause::WriteFault.into()));
    assert_eq!(look(&mut one), None);
    answers.answer(first, Ok(()));
    assert_eq!(look(&mut one), Some(Ok(())));
    assert_eq!(look(&mut two), Some(Err(Cause::WriteFault)));
}

#[test]
fn an_answer_to_nobody_reaches_nobody_else() {
    let answers = Answers::default();
    let (gone, waiting) = answers.expect();
    drop(waiting);
    let (next, mut waiting) = answers.expect();
    answers.answer(gone, Err(Cause::WriteFault.into()));
    assert_eq!(look(&mut waiting), None);
    answers.answer(next, Ok(()));
    assert_eq!(look(&mut waiting), Some(Ok(())));
}

#[test]
fn places_are_used_again() {
    let answers = Answers::default();
    (0..100).for_each(|_| drop(answers.expect()));
    assert_eq!(answers.0.borrow().slots.len(), 1);
}
