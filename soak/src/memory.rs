//! How much heap memory a piece of work holds at most, counted per thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// An allocator that counts; a program installs it with `#[global_allocator]`.
pub struct Counting;

/// The result, and the most bytes that were held at a time beside those held before. A block that moves
/// counts twice, as it does.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).max(0) as usize)
}

fn count(size: usize) {
    // A thread that is ending has no counters any more, and nothing that is measured.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + size as isize);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn release(size: usize) {
    let _ = HELD.try_with(|held| held.set(held.get() - size as isize));
}

#[allow(unsafe_code, reason = "an allocator cannot be written without; every call is handed to the system's")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        release(layout.size());
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        release(layout.size());
        unsafe { System.realloc(block, layout, size) }
    }
}
