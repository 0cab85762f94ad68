//! How JavaScript calls: one buffer in the module's memory, first for the request and then for the answer.
//!
//! The page calls `fiberscope_reserve(n)`, writes the `n` bytes of the request at the address it gets, calls
//! `fiberscope_call()`, and reads as many bytes as that says at `fiberscope_answer()`. Memory may have moved
//! after every call. No address is ever followed on this side; unsafe are only the names that must not be
//! mangled, and the clock that the page provides.
#![allow(unsafe_code, reason = "functions that JavaScript finds by name, and the page's clock")]

use std::sync::{Mutex, MutexGuard, PoisonError};

static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of so many bytes and tells where.
#[unsafe(no_mangle)]
pub extern "C" fn fiberscope_reserve(length: usize) -> *mut u8 {
    let mut buffer = buffer();
    buffer.clear();
    buffer.resize(length, 0);
    buffer.as_mut_ptr()
}

/// Answers the request in the buffer and tells how long the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn fiberscope_call() -> usize {
    #[cfg(all(target_arch = "wasm32", feature = "explorer"))]
    fiberscope::clock::set_clock(clock::now);
    let request = std::mem::take(&mut *buffer());
    let answer = crate::answer(&request).into_bytes();
    let length = answer.len();
    *buffer() = answer;
    length
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn fiberscope_answer() -> *const u8 {
    buffer().as_ptr()
}

#[cfg(all(target_arch = "wasm32", feature = "explorer"))]
mod clock {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        safe fn milliseconds() -> f64;
    }

    pub fn now() -> f64 {
        milliseconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_takes_the_place_of_the_request() {
        assert!(!fiberscope_reserve(3).is_null());
        buffer().copy_from_slice(b"{x}");
        let length = fiberscope_call();
        assert_eq!(buffer().len(), length);
        assert!(buffer().starts_with(br#"{"error":"#));
    }
}
