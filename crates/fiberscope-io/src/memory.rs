//! Memory for large tensors.

/// A vector of zeros for a tensor that is about to be filled.
///
/// Most of the time of reading a large tensor goes into the operating system's handing out fresh memory
/// in pages of 4 KiB; asked for large pages, it is several times faster.
pub fn zeros(entries: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; entries];
    ask_for_large_pages(&mut numbers);
    numbers
}

#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "the advice concerns memory that the slice owns and does not change its contents"
)]
fn ask_for_large_pages(numbers: &mut [f64]) {
    const PAGE: usize = 4096;
    const WORTHWHILE: usize = 8 << 20;
    let bytes = std::mem::size_of_val(numbers);
    if bytes < WORTHWHILE {
        return;
    }
    let start = numbers.as_mut_ptr().cast::<u8>();
    let to_page = start.align_offset(PAGE);
    if to_page < bytes {
        // SAFETY: the range lies inside the slice; MADV_HUGEPAGE changes how it is backed, not what it
        // holds. A refusal is of no consequence.
        unsafe {
            libc::madvise(start.add(to_page).cast(), bytes - to_page, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: &mut [f64]) {}

#[cfg(test)]
mod tests {
    #[test]
    fn large_and_small_vectors_are_zero() {
        for entries in [0, 1, 1000, 3 << 20] {
            let numbers = super::zeros(entries);
            assert!(numbers.len() == entries && numbers.iter().all(|&x| x == 0.0));
        }
    }
}
