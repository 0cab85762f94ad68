//! Barcodes: how many bars of each kind. `d_j` of them are alive at layer `j`.

use std::fmt;

use super::widths::check_widths;
use super::{Bar, LinearError};

/// The multiplicities `omega_{ki}` of the bars `[i, k]`, `0 <= i <= k <= L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Barcode {
    depth: usize,
    /// `omega_{ki}` at `k (k + 1) / 2 + i`.
    multiplicities: Vec<usize>,
}

impl Barcode {
    /// The barcode of a network with these bars, if the widths fit them.
    pub fn from_bars(widths: &[usize], bars: &[(Bar, usize)]) -> Result<Self, LinearError> {
        check_widths(widths)?;
        let depth = widths.len() - 1;
        let mut barcode = Barcode::empty(depth);
        for &(bar, count) in bars {
            if bar.start > bar.end || bar.end > depth {
                return Err(LinearError::BarOutside { start: bar.start, end: bar.end, depth });
            }
            barcode.set(bar, barcode.get(bar).saturating_add(count));
        }
        for (layer, &expected) in widths.iter().enumerate() {
            let found = barcode.alive(layer);
            if found != expected {
                return Err(LinearError::BarsAndWidths { layer, expected, found });
            }
        }
        Ok(barcode)
    }

    /// No bars, for layers `0..=depth`.
    pub(super) fn empty(depth: usize) -> Self {
        Barcode { depth, multiplicities: vec![0; (depth + 1) * (depth + 2) / 2] }
    }

    /// The number `L` of matrices.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The multiplicity of a bar.
    pub fn get(&self, bar: Bar) -> usize {
        self.multiplicities[index(bar)]
    }

    pub(super) fn set(&mut self, bar: Bar, count: usize) {
        self.multiplicities[index(bar)] = count;
    }

    /// The bars that are present with their multiplicities, by start, then by end.
    pub fn bars(&self) -> impl Iterator<Item = (Bar, usize)> + '_ {
        let all = (0..=self.depth).flat_map(|start| (start..=self.depth).map(move |end| Bar { start, end }));
        all.map(|bar| (bar, self.get(bar))).filter(|(_, count)| *count > 0)
    }

    /// Every copy of every bar, by start, then by falling end: the order of the columns of flow bases,
    /// in which bars `[0, L]` come first both at layer 0 and at layer `L`.
    pub fn copies(&self) -> Vec<Bar> {
        let ends = |start: usize| (start..=self.depth).rev().map(move |end| Bar { start, end });
        let all = (0..=self.depth).flat_map(ends);
        all.flat_map(|bar| std::iter::repeat_n(bar, self.get(bar))).collect()
    }

    /// The number of bars alive at a layer, its width.
    pub fn alive(&self, layer: usize) -> usize {
        let alive = self.bars().filter(|(bar, _)| bar.contains(layer)).map(|(_, count)| count);
        alive.fold(0, usize::saturating_add)
    }

    /// The widths `d_j = sum of omega_{ts} over s <= j <= t`.
    pub fn widths(&self) -> Vec<usize> {
        (0..=self.depth).map(|layer| self.alive(layer)).collect()
    }
}

impl fmt::Display for Barcode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (at, (bar, count)) in self.bars().enumerate() {
            let separator = if at > 0 { " " } else { "" };
            write!(f, "{separator}{bar}")?;
            if count > 1 {
                write!(f, "x{count}")?;
            }
        }
        Ok(())
    }
}

fn index(bar: Bar) -> usize {
    bar.end * (bar.end + 1) / 2 + bar.start
}
