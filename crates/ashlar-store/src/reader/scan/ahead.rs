//! Reading ahead: drives go on while what they gave before is worked on. A drive that has to seek
//! reads one piece of a column behind the other then, without a way between two.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::World;
use ashlar_raid::Geometry;
use tokio::sync::oneshot;

use crate::pool::Pool;
use crate::reader::scan::{Column, read_rows};

/// A piece that a task of its own reads: an answer that nobody takes looks like a drive that is
/// silent.
type Reading = oneshot::Receiver<Vec<Column>>;

/// Pieces of a segment that are being read, in order.
pub(crate) struct Ahead {
    /// Begins to read a piece.
    begin: Box<dyn Fn(u32) -> Reading>,
    /// Those that are left to begin.
    left: Range<u32>,
    /// Those that have begun.
    reading: VecDeque<(u32, Reading)>,
    /// How many of them there are at a time.
    pieces_max: usize,
}

impl Ahead {
    /// Of a segment that lies there: its first `rows`, in pieces of `rows_at_a_time`, of which so
    /// many are being read at a time. Whoever takes a piece makes sure that the segment is still
    /// what it was: nothing is written where it lies as long as it is.
    pub fn new<W: World>(
        pool: &Rc<Pool<W>>,
        geometry: &Rc<Geometry>,
        rows: u32,
        rows_at_a_time: u32,
        pieces_max: usize,
    ) -> Self {
        let (pool, geometry) = (pool.clone(), geometry.clone());
        let begin = move |piece: u32| {
            let (answer, reading) = oneshot::channel();
            let (reader, geometry) = (pool.clone(), geometry.clone());
            let rows = piece * rows_at_a_time..((piece + 1) * rows_at_a_time).min(rows);
            pool.spawn(async move {
                // Who asked may have gone.
                let _ = answer.send(read_rows(&reader, &geometry, rows).await);
            });
            reading
        };
        Ahead {
            begin: Box::new(begin),
            left: 0..rows.div_ceil(rows_at_a_time),
            reading: VecDeque::new(),
            pieces_max,
        }
    }

    /// The columns of a piece, once they are read; and begins to read further ones. `None` if it is
    /// not ahead: it has been taken before, or lies behind the last.
    pub(super) async fn piece(&mut self, piece: u32) -> Option<Vec<Column>> {
        self.skip_to(piece);
        self.begin_more();
        if self.reading.front()?.0 != piece {
            return None;
        }
        let (_, reading) = self.reading.pop_front()?;
        self.begin_more();
        reading.await.ok()
    }

    /// Nobody asks for what lies before it any more.
    fn skip_to(&mut self, piece: u32) {
        while self.reading.front().is_some_and(|(number, _)| *number < piece) {
            self.reading.pop_front();
        }
        self.left.start = self.left.start.max(piece.min(self.left.end));
    }

    fn begin_more(&mut self) {
        while self.reading.len() < self.pieces_max
            && let Some(piece) = self.left.next()
        {
            self.reading.push_back((piece, (self.begin)(piece)));
        }
    }
}

#[cfg(test)]
mod tests;
