use std::cell::RefCell;

use ashlar_block::AlignedBuf;

use super::*;
use crate::testing::at_once;

/// Pieces of a segment that has five, two of them ahead; and which have been begun.
fn ahead() -> (Ahead, Rc<RefCell<Vec<u32>>>) {
    let begun = Rc::new(RefCell::new(Vec::new()));
    let noted = begun.clone();
    let begin = move |piece: u32| {
        noted.borrow_mut().push(piece);
        let (answer, reading) = oneshot::channel();
        assert!(answer.send(vec![Column::Whole(AlignedBuf::zeroed(piece as usize + 1))]).is_ok());
        reading
    };
    (Ahead { begin: Box::new(begin), left: 0..5, reading: VecDeque::new(), pieces_max: 2 }, begun)
}

/// The number of the piece that these columns are of.
fn number(columns: &[Column]) -> usize {
    match &columns[0] {
        Column::Whole(bytes) => bytes.len() - 1,
        Column::Parts(_) => unreachable!("none is unreadable"),
    }
}

#[test]
fn so_many_pieces_as_may_be_are_read_before_they_are_asked_for() {
    let (mut ahead, begun) = ahead();
    for piece in 0..5 {
        let columns = at_once(ahead.piece(piece)).expect("it is ahead");
        assert_eq!(number(&columns), piece as usize);
        assert_eq!(*begun.borrow(), (0..5.min(piece + 3)).collect::<Vec<_>>());
    }
    assert!(at_once(ahead.piece(5)).is_none(), "behind the last");
}

#[test]
fn pieces_that_nobody_asks_for_are_passed_over_and_none_is_read_again() {
    let (mut ahead, begun) = ahead();
    at_once(ahead.piece(0)).expect("it is ahead");
    assert_eq!(number(&at_once(ahead.piece(4)).expect("it is ahead")), 4);
    assert_eq!(*begun.borrow(), [0, 1, 2, 4], "the third was not needed any more");
    assert!(at_once(ahead.piece(1)).is_none(), "whoever wants it reads it");
}
