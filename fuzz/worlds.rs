//! What a target that asks questions keeps from one input to the next.

use std::cell::RefCell;

use crate::packet::World;

/// Does `work` in every world there is.
pub(crate) fn with_worlds(work: impl FnOnce(&mut [World])) {
    thread_local! {
        static WORLDS: RefCell<[World; 3]> = RefCell::new(World::all());
    }
    WORLDS.with_borrow_mut(|worlds| work(worlds));
}
