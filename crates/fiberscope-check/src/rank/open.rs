//! Directions of the parameters that folds leave open, and which of them points forbid.
//!
//! One elimination of all rows would be as wide as the parameters. But the rows of a fold of layer `l` say something
//! about one row of layer `l` and about the layers before it. So the directions along which no fold changes are made
//! layer by layer: each of those known so far determines how the rows of the next layer have to follow it, or is
//! forbidden by a fold, and a row of which the folds leave something open adds its own. Of the directions along a
//! scaling none are kept: in the row of each hidden neuron one parameter that is not zero stays as it is.
//!
//! The rank that is counted is that of all rows on these directions, which form a subspace: at most that of all
//! rows, and no less, because all rows vanish along scalings, and every direction is one of these and scalings.

use std::collections::BTreeMap;

use fiberscope_core::Neuron;
use fiberscope_core::residue::{PRIME, reduce, signed};

use super::echelon::Echelon;
use super::residues::{Pattern, ResidueNetwork, Rows, combine, minus_product};

/// The most numbers that the directions may take.
const MOST_NUMBERS: usize = 1 << 27;

/// Why there is no list of directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// The caller said so.
    Stopped,
    /// Folds leave so many open.
    TooMany(usize),
}

/// What folds leave open.
#[derive(Clone, Debug)]
pub struct Open<'a> {
    residues: &'a ResidueNetwork,
    directions: Vec<Direction>,
    /// The rank of the folds.
    folds: usize,
    /// What points say: of the rows of the last layer, and how the outputs change along each direction.
    last: Echelon,
    /// What points forbid.
    forbidden: Echelon,
}

/// How rows of hidden layers move.
#[derive(Clone, Debug)]
struct Direction {
    /// The neuron it begins with.
    start: Neuron,
    /// By layer and neuron.
    rows: Vec<BTreeMap<usize, Vec<u64>>>,
}

impl<'a> Open<'a> {
    /// The directions that folds leave open. `folds` has the neurons with a pattern on one side of the fold.
    pub fn of_folds(
        residues: &'a ResidueNetwork,
        folds: &[(Neuron, &Pattern)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Unlisted> {
        let mut open = Open {
            residues,
            directions: Vec::new(),
            folds: 0,
            last: Echelon::default(),
            forbidden: Echelon::default(),
        };
        let mut by_neuron: BTreeMap<Neuron, Vec<&Pattern>> = BTreeMap::new();
        folds.iter().for_each(|(neuron, pattern)| by_neuron.entry(*neuron).or_default().push(pattern));
        for layer in 0..residues.widths().count() - 1 {
            open.add_layer(layer, &by_neuron, stop)?;
        }
        Ok(open)
    }

    /// The rank of all rows so far.
    pub fn rank(&self) -> usize {
        self.folds + self.last.rank() * self.outputs() + self.forbidden.rank()
    }

    /// The number of directions that folds leave open.
    pub fn count(&self) -> usize {
        self.directions.len()
    }

    /// What points forbid: numbers, one for each direction, that must add up to zero.
    pub fn forbidden(&self) -> &Echelon {
        &self.forbidden
    }

    /// The neurons with which directions that are still open begin.
    pub fn starts(&self) -> Vec<Neuron> {
        let free = (0..self.count()).filter(|at| !self.forbidden.rows().contains_key(at));
        free.map(|at| self.directions[at].start).collect()
    }

    /// Takes the rows of all outputs at a point; whether the rank grew.
    pub fn insert(&mut self, pattern: &Pattern) -> bool {
        let (before, full, count) = (self.rank(), self.inputs_of_last(), self.count());
        for row in self.output_rows(pattern) {
            let Some(left) = self.last.insert_within(row, full) else { continue };
            for changes in left[full..].chunks(count.max(1)) {
                self.forbidden.insert(changes.to_vec());
            }
        }
        self.rank() > before
    }

    /// Whether the rank would grow.
    pub fn gains(&self, pattern: &Pattern) -> bool {
        let full = self.inputs_of_last();
        self.output_rows(pattern).into_iter().any(|mut row| {
            self.last.eliminate(&mut row, full).is_some() || row[full..].iter().any(|&x| x != 0)
        })
    }

    /// The same with a single direction, the sum of all with these factors, which nothing forbids.
    pub fn along(&self, factors: &[u64]) -> Self {
        let mut sum = Direction { start: Neuron { layer: 0, unit: 0 }, rows: self.no_rows() };
        for (direction, &factor) in self.directions.iter().zip(factors) {
            sum.add(factor, direction);
        }
        let (full, count) = (self.inputs_of_last(), self.count().max(1));
        let mut last = Echelon::default();
        for row in self.last.rows().values() {
            let changes =
                row[full..].chunks(count).map(|part| super::residues::dot(part.iter().zip(factors)));
            last.insert(row[..full].iter().copied().chain(changes).collect());
        }
        Open { residues: self.residues, directions: vec![sum], folds: 0, last, forbidden: Echelon::default() }
    }

    fn outputs(&self) -> usize {
        self.residues.widths().last().expect("there is a last layer")
    }

    /// How many numbers a row of the last layer has.
    fn inputs_of_last(&self) -> usize {
        self.residues.own_row(self.residues.widths().count() - 1, 0).len()
    }

    fn no_rows(&self) -> Vec<BTreeMap<usize, Vec<u64>>> {
        vec![BTreeMap::new(); self.residues.widths().count() - 1]
    }

    /// Lets a hidden layer follow the directions, and adds those that its folds leave open.
    fn add_layer(
        &mut self,
        layer: usize,
        folds: &BTreeMap<Neuron, Vec<&Pattern>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Unlisted> {
        let mut forbidden = Echelon::default();
        let mut added = Vec::new();
        for unit in 0..self.residues.widths().nth(layer).expect("a hidden layer") {
            let neuron = Neuron { layer, unit };
            let row = self.residues.own_row(layer, unit);
            let (full, fixed) = (row.len(), row.iter().position(|&x| x != 0));
            let mut own = Echelon::default();
            for pattern in folds.get(&neuron).into_iter().flatten() {
                if stop() {
                    return Err(Unlisted::Stopped);
                }
                let is_known = own.rank() + 1 == full && forbidden.rank() == self.count();
                if is_known || !self.residues.reaches_output(pattern, layer, unit) {
                    continue;
                }
                for mut row in self.fold_rows(pattern, neuron) {
                    fixed.into_iter().for_each(|at| row[at] = 0);
                    if let Some(left) = own.insert_within(row, full) {
                        forbidden.insert(left[full..].to_vec());
                    }
                }
            }
            self.folds += own.rank();
            if self.count() == 0 && own.rank() + usize::from(fixed.is_some()) == full {
                continue;
            }
            own.reduce();
            for (k, direction) in self.directions.iter_mut().enumerate() {
                let mut row = vec![0; full];
                own.rows().iter().for_each(|(&lead, own)| row[lead] = signed(own[full + k], true));
                if row.iter().any(|&x| x != 0) {
                    direction.rows[layer].insert(unit, row);
                }
            }
            for free in (0..full).filter(|at| Some(*at) != fixed && !own.rows().contains_key(at)) {
                let mut row = vec![0; full];
                row[free] = 1;
                own.rows().iter().for_each(|(&lead, own)| row[lead] = signed(own[free], true));
                let mut rows = self.no_rows();
                rows[layer].insert(unit, row);
                added.push(Direction { start: neuron, rows });
            }
            let count = self.count() + added.len();
            if count.saturating_mul(self.residues.parameters()) > MOST_NUMBERS {
                return Err(Unlisted::TooMany(count));
            }
        }
        self.folds += forbidden.rank();
        self.forbid(forbidden);
        self.directions.append(&mut added);
        Ok(())
    }

    /// Keeps the sums of directions that are not forbidden.
    fn forbid(&mut self, mut forbidden: Echelon) {
        if forbidden.rank() == 0 {
            return;
        }
        forbidden.reduce();
        let kept = (0..self.count()).filter(|at| !forbidden.rows().contains_key(at)).map(|at| {
            let mut direction = self.directions[at].clone();
            for (&lead, row) in forbidden.rows() {
                direction.add(signed(row[at], true), &self.directions[lead]);
            }
            direction
        });
        self.directions = kept.collect();
    }

    /// The rows of a fold on the neuron's own row, and behind it along each direction.
    fn fold_rows(&self, pattern: &Pattern, neuron: Neuron) -> Vec<Vec<u64>> {
        let Neuron { layer, unit } = neuron;
        let inputs = self.residues.activations(pattern, layer);
        let Some(kernel) = self.residues.kernel(layer, unit, &inputs[layer]) else { return Vec::new() };
        let changes = self.changes(pattern, neuron, &inputs);
        let row = |&(b, c): &(usize, u64)| {
            let at = |values: &[u64]| minus_product(values[b], c, values[kernel.pivot]);
            let own = (0..inputs[layer].count()).map(|i| at(inputs[layer].row(i)));
            own.chain(changes.iter().map(|change| change.as_deref().map_or(0, at))).collect()
        };
        kernel.others.iter().map(row).collect()
    }

    /// The rows of all outputs at the unit vectors, on a row of the last layer, which is the same for all of them,
    /// and behind it along each direction, output by output.
    fn output_rows(&self, pattern: &Pattern) -> Vec<Vec<u64>> {
        let layer = self.residues.widths().count() - 1;
        let inputs = self.residues.activations(pattern, layer);
        let outputs = 0..self.outputs();
        let changes: Vec<Option<Vec<u64>>> =
            outputs.flat_map(|unit| self.changes(pattern, Neuron { layer, unit }, &inputs)).collect();
        let row = |b: usize| {
            let own = (0..inputs[layer].count()).map(|i| inputs[layer].row(i)[b]);
            own.chain(changes.iter().map(|change| change.as_ref().map_or(0, |change| change[b]))).collect()
        };
        (0..inputs[0].count()).map(row).collect()
    }

    /// How the pre-activation of a neuron changes along each direction, at the unit vectors; `None` if it does not.
    fn changes(&self, pattern: &Pattern, neuron: Neuron, inputs: &[Rows]) -> Vec<Option<Vec<u64>>> {
        if self.directions.is_empty() {
            return Vec::new();
        }
        let signals = self.residues.signals(pattern, neuron.layer, neuron.unit);
        let change = |direction: &Direction| {
            let mut total: Option<Vec<u64>> = None;
            for ((rows, signal), inputs) in direction.rows.iter().zip(&signals[..neuron.layer]).zip(inputs) {
                let mut sum: Option<Vec<u64>> = None;
                for (&unit, row) in rows.iter().filter(|(unit, _)| signal[**unit] != 0) {
                    add(sum.get_or_insert_with(|| vec![0; row.len()]), signal[unit], row);
                }
                let Some(sum) = sum else { continue };
                let mut values = vec![0; inputs.columns()];
                combine(&sum, inputs, &mut values);
                match &mut total {
                    Some(total) => add(total, 1, &values),
                    None => total = Some(values),
                }
            }
            total
        };
        self.directions.iter().map(change).collect()
    }
}

impl Direction {
    fn add(&mut self, factor: u64, other: &Direction) {
        if factor == 0 {
            return;
        }
        for (rows, other) in self.rows.iter_mut().zip(&other.rows) {
            for (&unit, row) in other {
                add(rows.entry(unit).or_insert_with(|| vec![0; row.len()]), factor, row);
            }
        }
    }
}

/// `sum += factor * row`.
fn add(sum: &mut [u64], factor: u64, row: &[u64]) {
    debug_assert!(factor < PRIME);
    let pairs = sum.iter_mut().zip(row);
    pairs.for_each(|(x, &y)| *x = reduce(u128::from(*x) + u128::from(factor) * u128::from(y)));
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Network;

    use super::*;

    /// Small numbers that look random.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    /// The rank is that of one elimination of all rows, for any patterns, be they those of points or not.
    #[test]
    fn ranks_are_those_of_all_rows() {
        let shapes: [&[usize]; 5] =
            [&[2, 3, 2], &[2, 3, 3, 1], &[1, 3, 2, 3, 2], &[3, 2, 4, 1], &[2, 2, 2, 2, 2, 1]];
        let (mut forbidden, mut open) = (0, 0);
        for seed in 0..60u64 {
            let mut next = numbers(seed);
            let widths = shapes[seed as usize % shapes.len()];
            let network = Network::from_widths(widths, || f64::from(next(17) as u8) / 4.0 - 2.0).unwrap();
            let residues = ResidueNetwork::new(&network);
            let hidden = &widths[1..widths.len() - 1];
            let mut pattern =
                || hidden.iter().map(|&width| (0..width).map(|_| next(3) > 0).collect()).collect::<Pattern>();
            let patterns: Vec<Pattern> = (0..10).map(|_| pattern()).collect();
            let neurons = hidden
                .iter()
                .enumerate()
                .flat_map(|(layer, &width)| (0..width).map(move |unit| Neuron { layer, unit }));
            let folds: Vec<(Neuron, &Pattern)> = neurons
                .flat_map(|neuron| patterns[..1 + seed as usize % 4].iter().map(move |p| (neuron, p)))
                .collect();
            let mut whole = Echelon::default();
            for &(Neuron { layer, unit }, pattern) in &folds {
                if residues.reaches_output(pattern, layer, unit) {
                    residues
                        .differentials(pattern, layer, unit)
                        .into_iter()
                        .for_each(|row| _ = whole.insert(row));
                }
            }
            let mut found = Open::of_folds(&residues, &folds, &|| false).unwrap();
            assert_eq!(found.rank(), whole.rank(), "{widths:?} {seed}, folds");
            for pattern in &patterns[7..] {
                let mut factors: Vec<u64> = (0..found.count()).map(|_| next(PRIME)).collect();
                found.forbidden().complete(&mut factors);
                let gains = found.along(&factors).gains(pattern);
                for output in 0..network.output_width() {
                    let rows = residues.differentials(pattern, hidden.len(), output);
                    rows.into_iter().for_each(|row| _ = whole.insert(row));
                }
                assert_eq!(found.insert(pattern), gains, "{widths:?} {seed}");
                assert_eq!(found.rank(), whole.rank(), "{widths:?} {seed}, points");
            }
            forbidden += found.forbidden().rank();
            open += found.starts().len();
        }
        assert!(forbidden > 5 && open > 5, "{forbidden} {open}");
    }
}
