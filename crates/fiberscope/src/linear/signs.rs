//! Signs of determinants: which components a stratum has, and which of them a point lies in.
//!
//! The group that moves along a stratum (`W_j -> g_j W_j g_{j-1}^{-1}` with `g_L W = W g_0`) has a sign for
//! every hidden layer (`det g_j`) and, where they are not empty, for the blocks `P` (bars `[0, L]`), `R`
//! (other bars at layer 0) and `T` (other bars at layer `L`). Flipping one copy of a bar changes the signs of
//! the layers and blocks it touches and leaves the point where it is, so the components are the signs modulo
//! those rows: with `c` signs and a GF(2) matrix `M` of one row per bar type, there are `2^{c - rk M}`.

use super::{Bar, Barcode};

/// The signs that change when a copy of `bar` is flipped: bit `j` for hidden layer `j`, bit 0 for `R`,
/// bit `depth` for `T`, bit `depth + 1` for `P`.
pub(super) fn sign_row(bar: Bar, depth: usize) -> u128 {
    let first = bar.start.max(1);
    let last = bar.end.min(depth - 1);
    let hidden = if first <= last { (1u128 << (last + 1)) - (1u128 << first) } else { 0 };
    let ends = match (bar.start == 0, bar.end == depth) {
        (true, true) => 1 << (depth + 1),
        (true, false) => 1,
        (false, true) => 1 << depth,
        (false, false) => 0,
    };
    hidden | ends
}

/// Bar types whose flips together change exactly the given signs, if there are such.
pub(super) fn solve(barcode: &Barcode, signs: u128) -> Option<Vec<Bar>> {
    let depth = barcode.depth();
    // Echelon basis of the rows, each with the set of bars it is the sum of.
    let bars: Vec<Bar> = barcode.bars().map(|(bar, _)| bar).collect();
    let mut basis: Vec<(u128, Vec<usize>)> = Vec::new();
    for (at, &bar) in bars.iter().enumerate() {
        let (row, parts) = reduce(&basis, sign_row(bar, depth), vec![at]);
        if row != 0 {
            basis.push((row, parts));
        }
    }
    let (rest, parts) = reduce(&basis, signs, Vec::new());
    (rest == 0).then(|| parts.into_iter().map(|at| bars[at]).collect())
}

fn reduce(basis: &[(u128, Vec<usize>)], mut row: u128, mut parts: Vec<usize>) -> (u128, Vec<usize>) {
    for (other, of) in basis {
        if row ^ other < row {
            row ^= other;
            for &part in of {
                match parts.iter().position(|&each| each == part) {
                    Some(at) => drop(parts.swap_remove(at)),
                    None => parts.push(part),
                }
            }
        }
    }
    parts.sort_unstable();
    (row, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_add_up_to_the_signs() {
        let widths = [1, 2, 2, 1];
        let bars = [(Bar::new(0, 3), 1), (Bar::new(1, 1), 1), (Bar::new(2, 2), 1)];
        let barcode = Barcode::from_bars(&widths, &bars).unwrap();
        for signs in 0..1u128 << 5 {
            if let Some(flips) = solve(&barcode, signs) {
                assert_eq!(flips.iter().fold(0, |sum, &bar| sum ^ sign_row(bar, 3)), signs);
            } else {
                assert_ne!(signs & 0b01001, 0, "R and T are empty, every other sign can be reached");
            }
        }
    }
}
