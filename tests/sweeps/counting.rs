//! An allocator that counts what one thread asks of it while somebody watches.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// What this thread allocated and freed while it was being watched; `None`: it is not.
    static WATCHED: Cell<Option<u64>> = const { Cell::new(None) };
}

struct Counting;

fn note() {
    WATCHED.with(|watched| watched.set(watched.get().map(|count| count + 1)));
}

// SAFETY: hands everything to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note();
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and frees of this thread while it does `work`.
pub(crate) fn watch(work: impl FnOnce()) -> u64 {
    WATCHED.set(Some(0));
    work();
    WATCHED.take().unwrap_or(u64::MAX)
}
