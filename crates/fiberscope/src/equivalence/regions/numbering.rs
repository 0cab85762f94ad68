//! Do two networks compute the same expressions where some neurons are not decided? A guess, and what to
//! decide next if not.
//!
//! The rules are those of the leaf `same` in `docs/formats/certificate-v1.md`, on numbers known by residue
//! and double. Atoms of only one network show where the two part: the neurons under them are to be decided
//! first.
//!
//! The checker has its own value numbering (`regions/numbering.rs` of `fiberscope-check`), on rational
//! numbers. The two are written twice on purpose: this one guesses and may change for speed, that one proves,
//! and a mistake made here must not be repeated there.

use std::collections::HashMap;

use fiberscope_core::residue::multiply;

use super::problem::Unit;
use super::residue::Number;

/// Bounds that rounding may have moved by this much, relative to their terms, count as reached.
const SLACK: f64 = 1e-9;

/// `sum c_v v + constant`; no coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expression {
    /// The variables in increasing order, with their coefficients.
    pub terms: Vec<(u32, Number)>,
    /// The constant.
    pub constant: Number,
}

impl Expression {
    fn variable(variable: u32) -> Self {
        Expression { terms: vec![(variable, Number::ONE)], constant: Number::default() }
    }

    fn times(&self, factor: Number) -> Self {
        let terms = self.terms.iter().map(|&(v, c)| (v, c.times(factor))).collect();
        Expression { terms, constant: self.constant.times(factor) }
    }

    /// The negative.
    pub fn negated(&self) -> Self {
        let terms = self.terms.iter().map(|&(v, c)| (v, c.negated())).collect();
        Expression { terms, constant: self.constant.negated() }
    }

    /// A number that is the same for all multiples of the terms, but for rounding.
    fn direction(&self) -> u64 {
        let first = self.terms.first().map_or(1.0, |(_, c)| c.value);
        self.terms.iter().fold(0, |hash: u64, (v, c)| {
            let ratio = ((c.value / first).to_bits().wrapping_add(1 << 27)) >> 28;
            (hash.rotate_left(5) ^ ratio ^ u64::from(*v) << 40).wrapping_mul(0x517c_c1b7_2722_0a95)
        })
    }
}

/// All multiples of a linear form `L`.
struct Class {
    terms: Vec<(u32, Number)>,
    range: (f64, f64),
    /// Constants `t` for which `relu(L + t)` is known, and what it is.
    cuts: Vec<(Number, Expression)>,
}

/// An atom.
struct Atom {
    key: Expression,
    /// 0 if the key is affine.
    level: u32,
    /// Which networks use it, as bits.
    users: u8,
    /// Neurons that are to be decided next and have this atom as value.
    units: Vec<Unit>,
}

/// The variables of a cell: inputs, then atoms.
pub struct Numbering {
    inputs: usize,
    ranges: Vec<(f64, f64)>,
    atoms: Vec<Atom>,
    classes: Vec<Class>,
    directions: HashMap<u64, Vec<usize>>,
    sums: Vec<Number>,
}

impl Numbering {
    /// The inputs only.
    pub fn new(inputs: &[(f64, f64)]) -> Self {
        Numbering {
            inputs: inputs.len(),
            ranges: inputs.to_vec(),
            atoms: Vec::new(),
            classes: Vec::new(),
            directions: HashMap::new(),
            sums: Vec::new(),
        }
    }

    /// The inputs as expressions.
    pub fn input_values(&self) -> Vec<Expression> {
        (0..self.inputs as u32).map(Expression::variable).collect()
    }

    /// Takes `e >= 0` for true.
    pub fn assume(&mut self, e: &Expression) {
        if let Some((class, factor, t)) = self.place(e) {
            let range = &mut self.classes[class].range;
            if factor.value > 0.0 {
                range.0 = range.0.max(-t.value);
            } else {
                range.1 = range.1.min(-t.value);
            }
        }
    }

    /// `sum_j w_j e_j + b`.
    pub fn combine(&mut self, row: &[Number], bias: Number, values: &[Expression]) -> Expression {
        let parts = row.iter().zip(values).filter(|(w, _)| !w.is_zero());
        self.sum(bias, parts.map(|(w, value)| (*w, value)))
    }

    fn sum<'a>(
        &mut self,
        constant: Number,
        parts: impl Iterator<Item = (Number, &'a Expression)>,
    ) -> Expression {
        self.sums.clear();
        self.sums.resize(self.ranges.len(), Number::default());
        let mut constant = constant;
        for (factor, part) in parts {
            constant = constant.plus(factor.times(part.constant));
            for &(v, c) in &part.terms {
                let sum = &mut self.sums[v as usize];
                *sum = sum.plus(factor.times(c));
            }
        }
        let terms = self.sums.iter().enumerate().filter(|(_, c)| !c.is_zero());
        Expression { terms: terms.map(|(v, &c)| (v as u32, c)).collect(), constant }
    }

    fn plus(&mut self, a: &Expression, b: &Expression) -> Expression {
        self.sum(Number::default(), [(Number::ONE, a), (Number::ONE, b)].into_iter())
    }

    /// `relu(e)`, the value of a neuron of a network; the neuron is named if it can be decided next.
    pub fn relu(&mut self, e: &Expression, network: usize, unit: Option<Unit>) -> Expression {
        let value = self.value(e);
        for &(v, _) in &value.terms {
            if let Some(atom) = (v as usize).checked_sub(self.inputs) {
                self.atoms[atom].users |= 1 << network;
                self.atoms[atom].units.extend(unit);
            }
        }
        value
    }

    fn value(&mut self, e: &Expression) -> Expression {
        if let Some(value) = self.find(e) {
            return value;
        }
        let absorbed = self.absorb(e);
        if let Some(value) = absorbed.as_ref().and_then(|f| self.find(f)) {
            self.note(e, &value);
            return value;
        }
        if let Some(value) = self.absorb(&e.negated()).and_then(|f| self.find(&f)) {
            let value = self.plus(&value, e);
            self.note(e, &value);
            return value;
        }
        let upper = self.range(&e.terms).1 + e.constant.value;
        let atom = Expression::variable(self.ranges.len() as u32);
        self.ranges.push((0.0, upper.max(0.0)));
        self.note(e, &atom);
        if let Some(absorbed) = &absorbed {
            self.note(absorbed, &atom);
        }
        let key = absorbed.unwrap_or_else(|| e.clone());
        let level = self.under(&key).map(|below| below.level + 1).max().unwrap_or(0);
        self.atoms.push(Atom { key, level, users: 0, units: Vec::new() });
        atom
    }

    /// The atoms in an expression.
    fn under<'a>(&'a self, e: &'a Expression) -> impl Iterator<Item = &'a Atom> {
        e.terms.iter().filter_map(|(v, _)| self.atoms.get((*v as usize).checked_sub(self.inputs)?))
    }

    fn find(&mut self, e: &Expression) -> Option<Expression> {
        let Some((class, factor, t)) = self.place(e) else {
            let constant = if e.constant.value > 0.0 { e.constant } else { Number::default() };
            return Some(Expression { terms: Vec::new(), constant });
        };
        let Class { range: (lower, upper), cuts, .. } = &self.classes[class];
        let slack = |end: f64| SLACK * end.abs().max(t.value.abs());
        let above = lower.is_finite() && lower + t.value >= -slack(*lower);
        let below = upper.is_finite() && upper + t.value <= slack(*upper);
        let positive = factor.value > 0.0;
        if above || below {
            return Some(if above == positive { e.clone() } else { Expression::default() });
        }
        let (_, value) = cuts.iter().find(|(cut, _)| cut.residue == t.residue)?;
        if factor.residue == 1 {
            return Some(value.clone());
        }
        if positive {
            return Some(value.times(factor));
        }
        let value = value.times(factor.negated());
        Some(self.plus(&value, e))
    }

    fn note(&mut self, e: &Expression, value: &Expression) {
        let Some((class, factor, t)) = self.place(e) else { return };
        let value = if factor.residue == 1 {
            value.clone()
        } else if factor.value > 0.0 {
            value.times(factor.inverse())
        } else {
            self.plus(value, &e.negated()).times(factor.negated().inverse())
        };
        self.classes[class].cuts.push((t, value));
    }

    /// `e = s (L + t)`: the class, `s` and `t`; `None` for a constant.
    fn place(&mut self, e: &Expression) -> Option<(usize, Number, Number)> {
        let &(_, first) = e.terms.first()?;
        let direction = e.direction();
        let known = self.directions.entry(direction).or_default();
        for &class in known.iter() {
            let others = &self.classes[class].terms;
            let other = others[0].1;
            let parallel = |((v, c), (w, d)): (&(u32, Number), &(u32, Number))| {
                v == w && multiply(c.residue, other.residue) == multiply(d.residue, first.residue)
            };
            if e.terms.len() == others.len() && e.terms.iter().zip(others).all(parallel) {
                if first.residue == other.residue {
                    return Some((class, Number::ONE, e.constant));
                }
                let factor = first.times(other.inverse());
                return Some((class, factor, e.constant.times(factor.inverse())));
            }
        }
        known.push(self.classes.len());
        let range = self.range(&e.terms);
        self.classes.push(Class { terms: e.terms.clone(), range, cuts: Vec::new() });
        Some((self.classes.len() - 1, Number::ONE, e.constant))
    }

    fn range(&self, terms: &[(u32, Number)]) -> (f64, f64) {
        terms.iter().fold((0.0, 0.0), |(lower, upper), (v, c)| {
            let (x, y) = self.ranges[*v as usize];
            let (x, y) = if c.value > 0.0 { (x, y) } else { (y, x) };
            (lower + c.value * x, upper + c.value * y)
        })
    }

    fn absorb(&mut self, e: &Expression) -> Option<Expression> {
        let mut result: Option<Expression> = None;
        let mut end = self.ranges.len();
        while let Some((atom, coefficient)) = self.absorbable(result.as_ref().unwrap_or(e), end) {
            let key = self.atoms[atom - self.inputs].key.clone();
            let now = result.as_ref().unwrap_or(e);
            let variable = Expression::variable(atom as u32);
            let parts = [(Number::ONE, now), (coefficient, &key), (coefficient.negated(), &variable)];
            (result, end) = (Some(self.sum(Number::default(), parts.into_iter())), atom);
        }
        result
    }

    fn absorbable(&self, e: &Expression, end: usize) -> Option<(usize, Number)> {
        let upper = |&(v, c): &(u32, Number)| {
            let (x, y) = self.ranges[v as usize];
            c.value * if c.value > 0.0 { y } else { x }
        };
        let (mut total, mut size, mut unbounded) = (e.constant.value, e.constant.value.abs(), 0);
        for term in e.terms.iter().map(upper) {
            if term.is_finite() {
                (total, size) = (total + term, size.max(term.abs()));
            } else {
                unbounded += 1;
            }
        }
        let is_outweighed = |term: f64| {
            if term.is_finite() {
                unbounded == 0 && total - term <= SLACK * size
            } else {
                unbounded == 1 && total <= SLACK * size
            }
        };
        let is_atom = |(v, c): &(u32, Number)| (self.inputs..end).contains(&(*v as usize)) && c.value > 0.0;
        let found = e.terms.iter().rev().find(|term| is_atom(term) && is_outweighed(upper(term)));
        found.map(|&(atom, coefficient)| (atom as usize, coefficient))
    }

    /// How many atoms only one network has.
    pub fn alone(&self) -> usize {
        self.atoms.iter().filter(|atom| atom.users != 3 && atom.users != 0).count()
    }

    /// The neurons whose decision is likely to make the outputs the same, with the weight of the reasons.
    pub fn blame(&self, outputs: &[Vec<Expression>; 2]) -> Vec<(Unit, u8)> {
        let alone = |atom: &&Atom| atom.users != 3 && atom.users != 0;
        let level = self.atoms.iter().filter(alone).map(|atom| atom.level).filter(|&level| level > 0).min();
        let mut under = vec![false; self.atoms.len()];
        let mark = |under: &mut Vec<bool>, e: &Expression| {
            for &(v, _) in &e.terms {
                if let Some(atom) = (v as usize).checked_sub(self.inputs) {
                    under[atom] = true;
                }
            }
        };
        for atom in self.atoms.iter().filter(alone).filter(|atom| Some(atom.level) == level) {
            mark(&mut under, &atom.key);
        }
        if !self.atoms.iter().any(|atom| alone(&atom)) {
            outputs.iter().flatten().for_each(|output| mark(&mut under, output));
        }
        for atom in (0..self.atoms.len()).rev().filter(|&atom| self.atoms[atom].level > 0) {
            if under[atom] {
                mark(&mut under, &self.atoms[atom].key);
            }
        }
        let weight = |(atom, under): (&Atom, &bool)| 2 * u8::from(*under) + u8::from(alone(&atom));
        let basic = self.atoms.iter().zip(&under).filter(|(atom, _)| atom.level == 0);
        let blamed = basic.flat_map(|pair| pair.0.units.iter().map(move |&unit| (unit, weight(pair))));
        blamed.filter(|(_, weight)| *weight > 0).collect()
    }
}
