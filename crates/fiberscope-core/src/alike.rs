//! Rows of a sparse matrix that can be worked off together.
//!
//! The channels of a convolution look at the same columns at one place of the image; in a residual block each adds one
//! column of its own, the value that is carried past the block. Rows form a group if they have equally many entries
//! and most of their columns, counted from the first entry, are the same.

use std::collections::HashMap;

/// Of a group, at most one column in so many is a row's own.
const OWN: usize = 4;

/// Rows of equal length that have nothing in common are still put side by side, so many at a time.
const STRANGERS: usize = 4;

/// An odd number with bits all over: 2^64 divided by the golden ratio.
const HASH: u64 = 0x9e37_79b9_7f4a_7c15;

/// All rows of a matrix, in groups.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    rows: Vec<u32>,
    groups: Vec<(usize, Own)>,
}

/// Which columns of a group each row has for itself, as places among the entries of a row.
#[derive(Debug, PartialEq)]
pub(crate) enum Own {
    /// These; all others are shared.
    Some(Vec<usize>),
    /// All of them.
    All,
}

impl Alike {
    /// The groups of rows, given the columns of each row.
    pub(crate) fn new<'a>(count: usize, columns: impl Fn(u32) -> &'a [u32]) -> Self {
        let mut rows: Vec<u32> = (0u32..).take(count).collect();
        let key = |row: u32| {
            let columns = columns(row);
            let at = |third: usize| columns.get(third * columns.len() / 3).copied();
            (columns.len(), at(1), at(2))
        };
        rows.sort_by_cached_key(|&row| key(row));
        let mut alike = Alike::default();
        let mut strangers = Vec::new();
        let mut rest = rows.as_slice();
        while let [first, others @ ..] = rest {
            let (length, mut own) = (columns(*first).len(), Vec::new());
            let joins = |row: &&u32| {
                let pairs = columns(*first).iter().zip(columns(**row));
                let all = union(&own, pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at));
                let fits = key(**row) == key(*first) && OWN * all.len() <= length;
                if fits {
                    own = all;
                }
                fits
            };
            let count = 1 + others.iter().take_while(joins).count();
            let (group, behind) = rest.split_at(count);
            match group {
                [single] => strangers.push(*single),
                _ => alike.push(group, Own::Some(own)),
            }
            rest = behind;
        }
        for equal in strangers.chunk_by(|&a, &b| columns(a).len() == columns(b).len()) {
            equal.chunks(STRANGERS).for_each(|rows| alike.push(rows, Own::All));
        }
        alike
    }

    fn push(&mut self, rows: &[u32], own: Own) {
        self.rows.extend_from_slice(rows);
        self.groups.push((self.rows.len(), own));
    }

    /// The groups: their rows, and which columns are not shared.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u32], &Own)> {
        self.groups.iter().scan(0, |start, (end, own)| {
            let rows = &self.rows[std::mem::replace(start, *end)..*end];
            Some((rows, own))
        })
    }
}

/// For each row the first one with the same entries, to the bit: the row itself if there is none before.
pub(crate) fn first_equal<'a>(count: usize, entries: impl Fn(usize) -> &'a [f64]) -> Vec<u32> {
    let bits = |row: u32| entries(row as usize).iter().map(|entry| entry.to_bits());
    let mut known: HashMap<u64, u32> = HashMap::new();
    let first = |row: u32| {
        let hash = bits(row).fold(0, |hash: u64, bits| (hash.rotate_left(5) ^ bits).wrapping_mul(HASH));
        let first = *known.entry(hash).or_insert(row);
        if bits(first).eq(bits(row)) { first } else { row }
    };
    (0..).take(count).map(first).collect()
}

/// Two increasing lists as one.
fn union(a: &[usize], b: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = a.iter().copied().chain(b).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_found_with_what_each_carries() {
        // Two channels at two places, each with a column of its own behind the shared ones; and two loners.
        let columns: [&[u32]; 6] =
            [&[0, 1, 4, 5, 8], &[2, 3, 6, 7, 9], &[0, 1, 4, 5, 10], &[2, 3, 6, 7, 11], &[3], &[1]];
        let alike = Alike::new(columns.len(), |row| columns[row as usize]);
        let found: Vec<_> = alike.iter().map(|(rows, own)| (rows.to_vec(), own)).collect();
        let (carried, all) = (Own::Some(vec![4]), Own::All);
        assert_eq!(found, [(vec![0, 2], &carried), (vec![1, 3], &carried), (vec![5, 4], &all)]);
    }

    #[test]
    fn the_first_row_with_the_same_entries_is_found() {
        let rows: [&[f64]; 7] = [&[1.0, 2.0], &[2.0, 1.0], &[1.0, 2.0], &[], &[2.0, 1.0], &[], &[1.0]];
        assert_eq!(first_equal(rows.len(), |row| rows[row]), [0, 1, 0, 3, 1, 3, 6]);
    }

    #[test]
    fn every_row_is_in_one_group() {
        let columns: Vec<Vec<u32>> =
            (0..200u32).map(|row| (0..row % 7).map(|k| k + row % 3).collect()).collect();
        let alike = Alike::new(columns.len(), |row| &columns[row as usize]);
        let mut rows: Vec<u32> = alike.iter().flat_map(|(rows, _)| rows.to_vec()).collect();
        rows.sort_unstable();
        assert_eq!(rows, (0..200).collect::<Vec<_>>());
        for (rows, own) in alike.iter() {
            let Own::Some(own) = own else { continue };
            for &row in rows {
                let (first, columns) = (&columns[rows[0] as usize], &columns[row as usize]);
                assert_eq!(first.len(), columns.len());
                let differ: Vec<usize> = (0..first.len()).filter(|&at| first[at] != columns[at]).collect();
                assert!(differ.iter().all(|at| own.contains(at)));
            }
        }
    }
}
