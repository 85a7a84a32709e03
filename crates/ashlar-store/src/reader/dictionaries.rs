//! The dictionaries of a pool in the form in which fragments are read by them.
//!
//! Owns those forms, and up to which number dictionaries are durable. The catalog has their bytes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::World;
use ashlar_format::ids::DictionaryNumber;

use crate::base::zstd::Dictionary;
use crate::pool::Pool;

/// Forms that are kept: some twelve MiB. To make one anew takes less than a read of a drive.
const READY_MAX: usize = 256;

/// See the module.
pub(crate) struct Dictionaries {
    ready: RefCell<BTreeMap<DictionaryNumber, Rc<Dictionary>>>,
    durable: Cell<DictionaryNumber>,
}

impl Dictionaries {
    /// Those up to this one are in the root that the pool was opened with.
    pub fn durable_up_to(newest: DictionaryNumber) -> Self {
        Dictionaries { ready: RefCell::default(), durable: Cell::new(newest) }
    }

    /// So are those up to this one now.
    pub fn are_durable(&self, newest: DictionaryNumber) {
        self.durable.set(newest);
    }

    /// Whether fragments may be stored by it: a start would find it.
    pub fn is_durable(&self, number: DictionaryNumber) -> bool {
        number <= self.durable.get()
    }
}

impl<W: World> Pool<W> {
    /// The dictionary of this number. None: it has gone with its volume.
    pub fn dictionary(&self, number: DictionaryNumber) -> Option<Rc<Dictionary>> {
        let mut ready = self.dictionaries.ready.borrow_mut();
        if let Some(dictionary) = ready.get(&number) {
            return Some(dictionary.clone());
        }
        let dictionary = Dictionary::new(&self.catalog.borrow().dictionaries.get(&number)?.bytes)?;
        if ready.len() == READY_MAX {
            ready.pop_first();
        }
        let dictionary = Rc::new(dictionary);
        ready.insert(number, dictionary.clone());
        Some(dictionary)
    }
}
