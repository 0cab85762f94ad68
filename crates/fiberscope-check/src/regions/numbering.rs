//! Value numbering: relu of an expression is written with variables that stand for the same function wherever
//! they occur, in either network.
//!
//! Variables are the free inputs and *atoms* `relu(k)` of expressions `k` in earlier variables. On the cell
//! (the points of the domain that satisfy the constraints of the path) every rewriting is an equality of
//! functions:
//!
//! 1. If the ranges of the variables, or a constraint, show `e >= 0`, then `relu(e) = e`; if `e <= 0`, it is
//!    0.
//! 2. If `relu(k)` is known to be `v` and `e = s k`, then `relu(e) = s v` for `s > 0`, and
//!    `relu(e) = -s v + e` for `s < 0`, because `relu(-k) = relu(k) - k`.
//! 3. Absorption: if `e = c relu(k) + r`, `c > 0` and `r <= 0`, then
//!    `relu(e) = max(c k + r, r, 0) = relu(c k + r)`.
//! 4. What is left becomes a new atom.
//!
//! The search has its own value numbering (`equivalence/regions/numbering.rs` of `fiberscope`), on residues
//! and doubles. The two are written twice on purpose: that one guesses and may change for speed, this one
//! proves, and nothing of the code that finds certificates is used here.

use std::collections::HashMap;

use fiberscope_core::{Interval, ProductSum, Rational};

use super::Fault;
use super::expression::Expression;
use crate::Stop;

/// The longest factor, in bits, by which an expression is recognised as a multiple of another.
const MAX_RATIO: u64 = 1 << 12;

/// The length of the numbers in the ranges of atoms; they are rounded outward.
const RANGE_BITS: u32 = 64;

/// All multiples of a linear form `L`.
struct Class {
    /// `L`, without constant.
    form: Expression,
    /// What `L` can be on the cell.
    range: Interval,
    /// Constants `t` for which `relu(L + t)` is known, and what it is.
    cuts: Vec<(Rational, Expression)>,
}

/// Where an expression stands: `s (L + t)` in a class.
struct Place {
    class: usize,
    factor: Rational,
    constant: Rational,
}

/// The variables of a cell.
pub struct Numbering<'a> {
    /// What the variables can be: inputs, then atoms.
    ranges: Vec<Interval>,
    inputs: usize,
    /// Per atom: the expression that it is relu of.
    keys: Vec<Expression>,
    classes: Vec<Class>,
    /// Classes by the direction of their form.
    directions: HashMap<u64, Vec<usize>>,
    products: usize,
    /// The most products.
    limit: usize,
    stop: Stop<'a>,
}

impl<'a> Numbering<'a> {
    /// The inputs only. No more than `limit` products of coefficients are computed.
    pub fn new(inputs: &[Interval], limit: usize, stop: Stop<'a>) -> Self {
        Numbering {
            ranges: inputs.to_vec(),
            inputs: inputs.len(),
            keys: Vec::new(),
            classes: Vec::new(),
            directions: HashMap::new(),
            products: 0,
            limit,
            stop,
        }
    }

    /// Takes `e >= 0` for true on the cell.
    pub fn assume(&mut self, e: &Expression) -> Result<(), Fault> {
        let Some(place) = self.place(e)? else { return Ok(()) };
        let Class { range, .. } = &mut self.classes[place.class];
        let end = -place.constant;
        if place.factor.is_positive() {
            range.lower = Some(range.lower.take().map_or(end.clone(), |lower| lower.max(end)));
        } else {
            range.upper = Some(range.upper.take().map_or(end.clone(), |upper| upper.min(end)));
        }
        Ok(())
    }

    /// `sum_j w_j e_j + b`.
    pub fn combine(
        &mut self,
        row: &[Rational],
        bias: &Rational,
        values: &[Expression],
    ) -> Result<Expression, Fault> {
        let used = || row.iter().zip(values).filter(|(w, _)| !w.is_zero());
        self.spend(used().map(|(_, value)| value.terms.len() + 1).sum())?;
        Ok(Expression::combination(bias.clone(), used()))
    }

    /// `relu(e)` on the cell.
    pub fn relu(&mut self, e: &Expression) -> Result<Expression, Fault> {
        if let Some(value) = self.find(e)? {
            return Ok(value);
        }
        let absorbed = self.absorb(e)?;
        if let Some(value) = absorbed.as_ref().map_or(Ok(None), |f| self.find(f))? {
            self.note(e, &value)?;
            return Ok(value);
        }
        if let Some(opposite) = self.absorb(&e.times(&-Rational::ONE))?
            && let Some(value) = self.find(&opposite)?
        {
            let value = value.plus(e);
            self.note(e, &value)?;
            return Ok(value);
        }
        let upper = self.bound(e, false)?.map(|upper| upper.max(Rational::ZERO).round_up(RANGE_BITS));
        let atom = Expression::variable(self.ranges.len());
        self.ranges.push(Interval { lower: Some(Rational::ZERO), upper });
        self.note(e, &atom)?;
        if let Some(absorbed) = &absorbed {
            self.note(absorbed, &atom)?;
        }
        self.keys.push(absorbed.unwrap_or_else(|| e.clone()));
        Ok(atom)
    }

    /// `relu(e)`, if rules 1 and 2 tell it.
    fn find(&mut self, e: &Expression) -> Result<Option<Expression>, Fault> {
        let Some(place) = self.place(e)? else {
            let constant = e.constant.clone().max(Rational::ZERO);
            return Ok(Some(Expression { terms: Vec::new(), constant }));
        };
        let Class { range, cuts, .. } = &self.classes[place.class];
        let above = range.lower.as_ref().is_some_and(|lower| !(lower + &place.constant).is_negative());
        let below = range.upper.as_ref().is_some_and(|upper| !(upper + &place.constant).is_positive());
        let positive = place.factor.is_positive();
        if (above && positive) || (below && !positive) {
            return Ok(Some(e.clone()));
        }
        if above || below {
            return Ok(Some(Expression::default()));
        }
        let known = cuts.iter().find(|(t, _)| *t == place.constant).map(|(_, value)| value);
        Ok(known.map(|value| {
            if place.factor == Rational::ONE {
                return value.clone();
            }
            let value = value.times(&place.factor.abs());
            if positive { value } else { value.plus(e) }
        }))
    }

    /// Writes down what `relu(e)` is.
    fn note(&mut self, e: &Expression, value: &Expression) -> Result<(), Fault> {
        let Some(place) = self.place(e)? else { return Ok(()) };
        let value = match place.factor.signum() {
            1 if place.factor == Rational::ONE => value.clone(),
            sign => {
                let inverse = place.factor.abs().recip().expect("a factor is not zero");
                let shifted = if sign > 0 { value.clone() } else { value.plus(&e.times(&-Rational::ONE)) };
                shifted.times(&inverse)
            }
        };
        self.classes[place.class].cuts.push((place.constant, value));
        Ok(())
    }

    /// The class of an expression; `None` for a constant.
    fn place(&mut self, e: &Expression) -> Result<Option<Place>, Fault> {
        if e.terms.is_empty() {
            return Ok(None);
        }
        let direction = e.direction();
        for place in 0..self.directions.get(&direction).map_or(0, Vec::len) {
            self.spend(e.terms.len())?;
            let class = self.directions[&direction][place];
            if let Some(factor) = e.ratio(&self.classes[class].form.terms).filter(is_short) {
                let constant =
                    if factor == Rational::ONE { e.constant.clone() } else { &e.constant / &factor };
                return Ok(Some(Place { class, factor, constant }));
            }
        }
        let form = Expression { terms: e.terms.clone(), constant: Rational::ZERO };
        let upper = self.bound(&form, false)?;
        let lower = self.bound(&form, true)?;
        let class = self.classes.len();
        self.classes.push(Class { form, range: Interval { lower, upper }, cuts: Vec::new() });
        self.directions.entry(direction).or_default().push(class);
        Ok(Some(Place { class, factor: Rational::ONE, constant: e.constant.clone() }))
    }

    /// What the expression is at most, or at least, by the ranges of its variables.
    fn bound(&mut self, e: &Expression, least: bool) -> Result<Option<Rational>, Fault> {
        self.spend(e.terms.len())?;
        let mut sum = ProductSum::default();
        sum.add(&e.constant, &Rational::ONE);
        for (coefficient, end) in e.ends(&self.ranges, least) {
            let Some(end) = end else { return Ok(None) };
            sum.add(coefficient, end);
        }
        Ok(Some(sum.to_rational()))
    }

    /// The expression with atoms absorbed, the latest first; `None` if there are none to absorb.
    fn absorb(&mut self, e: &Expression) -> Result<Option<Expression>, Fault> {
        let mut result: Option<Expression> = None;
        let mut end = self.ranges.len();
        while let Some((atom, coefficient)) = self.absorbable(result.as_ref().unwrap_or(e), end)? {
            let key = &self.keys[atom - self.inputs];
            let variable = Expression::variable(atom);
            let now = result.as_ref().unwrap_or(e);
            let parts = [(&Rational::ONE, now), (&coefficient, key), (&-&coefficient, &variable)];
            let next = Expression::combination(Rational::ZERO, parts);
            self.spend(key.terms.len() + next.terms.len())?;
            (result, end) = (Some(next), atom);
        }
        Ok(result)
    }

    /// The last atom before `end` whose coefficient is positive while the rest is at most zero, and the
    /// coefficient.
    fn absorbable(&mut self, e: &Expression, end: usize) -> Result<Option<(usize, Rational)>, Fault> {
        let atoms = self.inputs..end;
        let is_atom = |(v, c): &(usize, Rational)| atoms.contains(v) && c.is_positive();
        if !e.terms.iter().any(is_atom) {
            return Ok(None);
        }
        self.spend(2 * e.terms.len())?;
        let mut total = ProductSum::default();
        total.add(&e.constant, &Rational::ONE);
        let (mut unbounded, mut rising, mut falling) = (0, 0, e.constant.is_negative());
        for (coefficient, end) in e.ends(&self.ranges, false) {
            let Some(end) = end else {
                unbounded += 1;
                continue;
            };
            total.add(coefficient, end);
            rising += usize::from(coefficient.signum() * end.signum() > 0);
            falling |= coefficient.signum() * end.signum() < 0;
        }
        // The rest has a term that rises and none that outweighs it.
        if unbounded > 1 || (rising + unbounded > 1 && !falling) {
            return Ok(None);
        }
        let is_outweighed = |coefficient: &Rational, end: Option<&Rational>| match end {
            Some(end) if unbounded == 0 => {
                let mut rest = total.clone();
                rest.subtract(coefficient, end);
                rest.signum() <= 0
            }
            Some(_) => false,
            None => total.signum() <= 0,
        };
        let terms: Vec<_> = e.terms.iter().zip(e.ends(&self.ranges, false)).collect();
        let mut atoms = terms.into_iter().rev().filter(|(term, _)| is_atom(term));
        Ok(atoms.find(|(_, (c, end))| is_outweighed(c, *end)).map(|(term, _)| term.clone()))
    }

    fn spend(&mut self, products: usize) -> Result<(), Fault> {
        self.products = self.products.saturating_add(products);
        if self.products > self.limit {
            return Err(format!("\"same\" needs more than {} products", self.limit).into());
        }
        if (self.stop)() { Err(Fault::Stopped) } else { Ok(()) }
    }
}

/// Factors of rows that are related have few digits; products of others would grow without bound.
fn is_short(factor: &Rational) -> bool {
    *factor == Rational::ONE || factor.length() <= MAX_RATIO
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Domain, ExactNetwork, Neuron};

    use super::super::masked::{Inputs, Masked};
    use super::*;

    /// Small integers, so that proportional, opposite and constant rows are common.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self, size: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as i64 % (2 * size + 1) - size
        }

        fn network(&mut self, widths: &[usize]) -> ExactNetwork {
            ExactNetwork::from_widths(widths, || Rational::from(self.next(2))).unwrap()
        }
    }

    fn value(e: &Expression, variables: &[Rational]) -> Rational {
        e.terms.iter().map(|(v, c)| c * &variables[*v]).sum::<Rational>() + &e.constant
    }

    #[test]
    fn expressions_have_the_values_of_the_network() {
        let mut numbers = Numbers(3);
        let (mut atoms, mut neurons) = (0, 0);
        for round in 0..400 {
            let network = numbers.network(if round % 2 == 0 { &[2, 3, 3, 1] } else { &[2, 2, 3, 2, 1] });
            let x = [numbers.next(9), numbers.next(9)].map(|n| Rational::dyadic(n.into(), -1));
            let domain =
                if round % 3 == 0 { Domain::Space } else { Domain::from_bounds(&[(-4.5, 4.5); 2]).unwrap() };
            let inputs = Inputs::new(&domain.sides(2));
            let mut masked = Masked::new(&network, &|| false);
            let mut numbering = Numbering::new(&inputs.ranges, 1 << 24, &|| false);
            // Some neurons of the first layer are decided as they are at x.
            for unit in 0..numbers.next(1) + 1 {
                let neuron = Neuron { layer: 0, unit: unit as usize };
                let known = Expression::affine(masked.form(neuron, &inputs).unwrap());
                let on = !value(&known, &x).is_negative();
                numbering.assume(&known.times(&Rational::from(if on { 1 } else { -1 }))).unwrap();
                masked.set(neuron, Some(on));
            }
            let outputs = masked.values(network.depth(), &inputs, &mut numbering).unwrap();
            let mut variables = x.to_vec();
            for (key, range) in numbering.keys.iter().zip(&numbering.ranges[2..]) {
                let atom = value(key, &variables).max(Rational::ZERO);
                assert!(range.upper.as_ref().is_none_or(|upper| atom <= *upper), "round {round}");
                variables.push(atom);
            }
            let found: Vec<Rational> = outputs.iter().map(|output| value(output, &variables)).collect();
            assert_eq!(found, network.evaluate_exact(&x).unwrap(), "round {round}");
            atoms += numbering.keys.len();
            neurons += network.hidden_layers().iter().map(|layer| layer.width()).sum::<usize>();
        }
        assert!(3 * atoms > neurons && 4 * atoms < 3 * neurons, "{atoms} {neurons}");
    }

    #[test]
    fn long_factors_and_long_work_are_refused() {
        let mut numbering = Numbering::new(&[Interval::ALL, Interval::ALL], 1 << 24, &|| false);
        let long = (0..200).fold(Rational::ONE, |n, _| &n * &Rational::from(i64::MAX));
        let e = Expression::affine(&[Rational::ONE, Rational::from(3), Rational::ONE]);
        let atom = numbering.relu(&e).unwrap();
        assert_eq!(numbering.relu(&e.times(&Rational::from(5))).unwrap(), atom.times(&Rational::from(5)));
        assert_ne!(numbering.relu(&e.times(&long)).unwrap(), atom.times(&long));
        numbering.products = 1 << 24;
        let refused = numbering.relu(&e).unwrap_err();
        assert_eq!(refused, Fault::Rule("\"same\" needs more than 16777216 products".into()));
    }
}
