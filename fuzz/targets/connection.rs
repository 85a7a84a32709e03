#![no_main]

use std::cell::RefCell;

use ashlar_fuzz::connection::Harness;
use libfuzzer_sys::fuzz_target;

thread_local! {
    /// One target for all inputs: that is what makes thousands of connections in a second possible.
    static HARNESS: RefCell<Harness> = RefCell::new(Harness::start());
}

fuzz_target!(|input: &[u8]| HARNESS.with_borrow_mut(|harness| harness.check(input)));
