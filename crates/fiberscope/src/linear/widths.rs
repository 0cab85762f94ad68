//! The widths `d_0, ..., d_L` of a product of matrices that are supported.

use super::LinearError;

/// The most matrices in a product: starts of bars are bits of a `u128`.
const MAX_DEPTH: usize = 120;
/// The largest width: ranks are stored as `u16`.
const MAX_WIDTH: usize = u16::MAX as usize;

/// Checks widths alone.
pub(super) fn check_widths(widths: &[usize]) -> Result<(), LinearError> {
    if widths.len() < 2 {
        return Err(LinearError::TooFewWidths { found: widths.len() });
    }
    if widths.len() - 1 > MAX_DEPTH {
        return Err(LinearError::TooDeep { found: widths.len() - 1, most: MAX_DEPTH });
    }
    if let Some(position) = widths.iter().position(|&width| width == 0) {
        return Err(LinearError::ZeroWidth { position });
    }
    if let Some(position) = widths.iter().position(|&width| width > MAX_WIDTH) {
        return Err(LinearError::TooWide { position, found: widths[position], most: MAX_WIDTH });
    }
    Ok(())
}
