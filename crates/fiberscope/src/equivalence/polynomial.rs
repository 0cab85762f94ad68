//! The procedures that decide without a search, where they apply.

use fiberscope_algebra::{never, rank};
use fiberscope_check::{LineOutcome, compare_on_line};
use fiberscope_core::{Activation, Domain, Evidence, ExactNetwork, Move, Network, Rational};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::bottleneck::{self, Finding};
use super::tail::{Tail, difference_points, inside};
use super::{Difference, EquivalenceError, Method, Question, Verdict};
use crate::orbit::match_layers;
use crate::reduce::{ReduceOptions, Reduction, reduce_until};

/// What a procedure found.
pub enum Found {
    /// The networks are equal, with the proof.
    Equal(Box<Verdict>, Method),
    /// They differ at a point.
    Different(Difference, Method),
}

impl Question<'_> {
    /// Both networks, reduced on the domain.
    pub(super) fn reduce(&self) -> Result<(Reduction, Reduction), EquivalenceError> {
        let reduced = |network: &Network| {
            reduce_until(&network.to_exact(), self.domain, &ReduceOptions::default(), self.deadline)
        };
        let (mut a, mut b) = (reduced(self.a)?, reduced(self.b)?);
        // A hidden layer of its own lets a shallower network be compared with a deeper one.
        match (a.network.hidden_depth(), b.network.hidden_depth()) {
            (1, 2) => deepen(&mut a),
            (2, 1) => deepen(&mut b),
            _ => {}
        }
        Ok((a, b))
    }

    /// The procedures that need no search.
    pub(super) fn polynomial(&self, a: &Reduction, b: &Reduction) -> Option<Found> {
        let matching = match_layers(&a.network, &b.network, self.deadline)?;
        let moves_a = a.moves.clone();
        let moves_b = b.moves.clone().compose(matching.moves);
        let (net_a, net_b) = (&a.network, &matching.network);
        if matching.prefix == net_a.depth() && net_a.depth() == net_b.depth() {
            return self.found_equal(Evidence::Moves { a: moves_a, b: moves_b }, Method::Moves);
        }
        let hidden = (net_a.hidden_depth(), net_b.hidden_depth());
        if hidden == (0, 0) {
            return self.found_different(self.random_points(self.a.input_width() + 1), Method::AffineMaps);
        }
        if hidden == (matching.prefix + 1, matching.prefix + 1) {
            let sides = net_a.activation_ranges(self.domain).nth(matching.prefix)?;
            match difference_points(&Tail::of(net_a), &Tail::of(net_b), &sides, self.seed) {
                None => {
                    let evidence = Evidence::Hyperplanes { a: moves_a, b: moves_b, prefix: matching.prefix };
                    return self.found_equal(evidence, Method::Hyperplanes);
                }
                Some(points) if matching.prefix == 0 => {
                    return self.found_different(points, Method::Hyperplanes);
                }
                Some(_) => {}
            }
        }
        match compare_on_line(net_a, &b.network, self.domain, &|| self.deadline.is_past()) {
            Some(LineOutcome::Equal(breakpoints)) => {
                let evidence = Evidence::Line { a: moves_a, b: b.moves.clone(), breakpoints };
                return self.found_equal(evidence, Method::Breakpoints);
            }
            Some(LineOutcome::Different(x)) => return self.found_different([x], Method::Breakpoints),
            Some(LineOutcome::Stopped) | None => {}
        }
        if hidden == (2, 2)
            && *self.domain == Domain::Space
            && [net_a, &b.network].into_iter().all(is_bottleneck)
        {
            return match bottleneck::compare(net_a, &b.network, self.seed, self.deadline) {
                Finding::Equal { a: more_a, b: more_b } => {
                    let (a, b) = (moves_a.compose(more_a), b.moves.clone().compose(more_b));
                    self.found_equal(Evidence::Hyperplanes { a, b, prefix: 1 }, Method::Bottleneck)
                }
                Finding::Different(x) => self.found_different([x], Method::Bottleneck),
                Finding::Nothing => None,
            };
        }
        None
    }

    /// Points of the domain in general position.
    fn random_points(&self, count: usize) -> impl Iterator<Item = Vec<Rational>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let sides = self.domain.sides(self.a.input_width());
        (0..count).map(move |_| sides.iter().map(|side| inside(side, &mut rng)).collect())
    }

    fn found_equal(&self, evidence: Evidence, method: Method) -> Option<Found> {
        self.equal(evidence, method).map(|(verdict, method)| Found::Equal(Box::new(verdict), method))
    }

    fn found_different(
        &self,
        points: impl IntoIterator<Item = Vec<Rational>>,
        method: Method,
    ) -> Option<Found> {
        self.difference(points).map(|difference| Found::Different(difference, method))
    }
}

/// Puts a layer of identity weights behind the only hidden layer; its inputs are nonnegative.
fn deepen(reduction: &mut Reduction) {
    let layers = reduction.network.layers();
    let (hidden, output) = (&layers[0], &layers[1]);
    if hidden.activation() != Activation::Relu {
        return;
    }
    let unit = |i: usize, j: usize| if i == j { Rational::ONE } else { Rational::ZERO };
    let width = hidden.width();
    let unfold = Move::Unfold {
        layer: 1,
        weight: (0..width).map(|i| (0..width).map(|j| unit(i, j)).collect()).collect(),
        bias: vec![Rational::ZERO; width],
        activation: Activation::Relu,
        next_weight: output.weight().iter_rows().map(<[Rational]>::to_vec).collect(),
        next_bias: output.bias().to_vec(),
        pairs: Vec::new(),
    };
    unfold.apply(&mut reduction.network, &Domain::Space).expect("relu of a nonnegative number is the number");
    reduction.moves.push(unfold);
}

/// Whether the network has two hidden ReLU layers and its first weight has full row rank.
fn is_bottleneck(network: &ExactNetwork) -> bool {
    let relu = network.hidden_layers().iter().all(|layer| layer.activation() == Activation::Relu);
    let first = network.layers()[0].weight();
    relu && first.rows() <= first.cols()
        && rank::rank(&first.map(Rational::to_f64), &never).lower == first.rows()
}
