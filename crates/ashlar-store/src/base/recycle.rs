//! Recycled lists: an operation takes a list that an earlier one has given back, and allocates
//! none.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// What a recycler keeps, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Gives lists out, and keeps those that come back.
pub struct Recycler<T> {
    kept: Rc<RefCell<Kept<T>>>,
}

/// A list of a recycler. Dropping it empties it and gives it back.
pub struct Recycled<T> {
    list: Vec<T>,
    home: Rc<RefCell<Kept<T>>>,
}

/// Empty lists.
struct Kept<T> {
    lists: Vec<Vec<T>>,
    bytes: usize,
}

impl<T> Kept<T> {
    fn add(&mut self, list: Vec<T>) {
        let bytes = self.bytes + bytes_of(&list);
        if bytes <= KEPT_BYTES_MAX {
            self.bytes = bytes;
            self.lists.push(list);
        }
    }

    fn take(&mut self) -> Option<Vec<T>> {
        let list = self.lists.pop()?;
        self.bytes -= bytes_of(&list);
        Some(list)
    }
}

fn bytes_of<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

impl<T> Recycler<T> {
    /// An empty list.
    pub fn list(&self) -> Recycled<T> {
        let list = self.kept.borrow_mut().take().unwrap_or_default();
        Recycled { list, home: self.kept.clone() }
    }
}

impl<T> Default for Recycler<T> {
    fn default() -> Self {
        Recycler { kept: Rc::new(RefCell::new(Kept { lists: Vec::new(), bytes: 0 })) }
    }
}

impl<T> Drop for Recycled<T> {
    fn drop(&mut self) {
        self.list.clear();
        self.home.borrow_mut().add(std::mem::take(&mut self.list));
    }
}

impl<T> Deref for Recycled<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.list
    }
}

impl<T> DerefMut for Recycled<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.list
    }
}

impl<T: fmt::Debug> fmt::Debug for Recycled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

#[cfg(test)]
mod tests;
