//! Do two facets lie in one hyperplane? Exactly.
//!
//! On a facet of neuron `h` let `F` be the affine function of `h`. It depends on which neurons below `h` are
//! on. Two facets of `h` at a ridge where the same ones are on lie in one hyperplane. If they differ in one
//! neuron `g`, then the functions differ by `c` times that of `g`, where `c` is the sum over the paths from
//! `g` to `h`; since `g` is not zero on all of the hyperplane of `h`, the facets lie in one hyperplane iff
//! `c = 0`. In a simple complex facets of different neurons at a ridge are transversal. All other cases
//! compare the equations in rational numbers.

use fiberscope_core::{Rational, Sign};

use super::paths::reaches;
use super::polyhedral::PolyhedralComplex;
use super::stream::CellMethod;
use super::weights::WeightedFacet;

/// Whether two different facets at one ridge lie in one hyperplane.
pub(crate) fn are_collinear(complex: &PolyhedralComplex, a: &WeightedFacet, b: &WeightedFacet) -> bool {
    let d = complex.factor_dimension();
    let [on_a, on_b] = [a, b].map(|facet| complex.level(d - 1).signs(facet.facet));
    if let ([h], [other]) = (&a.neurons[..], &b.neurons[..]) {
        if h != other && complex.method() == CellMethod::Edges {
            return false;
        }
        if h == other {
            let below = complex.frame.flat.layers[complex.neuron(*h).layer].first;
            let differs = |&g: &usize| (on_a[g] == Sign::Positive) != (on_b[g] == Sign::Positive);
            let changed: Vec<usize> = (0..below).filter(differs).collect();
            match changed[..] {
                [] => return true,
                [g] => {
                    let mut positive = Vec::new();
                    complex.frame.flat.add_positive(on_a, &mut positive);
                    return !reaches(&complex.frame, g, *h, &positive);
                }
                _ => {}
            }
        }
    }
    equation(complex, a) == equation(complex, b)
}

/// The hyperplane of a facet: normal with first nonzero entry 1, and offset.
pub(crate) fn equation(complex: &PolyhedralComplex, facet: &WeightedFacet) -> (Vec<Rational>, Rational) {
    let d = complex.factor_dimension();
    let signs = complex.level(d - 1).signs(facet.facet);
    let active = |h: usize| signs[h] == Sign::Positive;
    let (normal, offset) = complex.frame.arbiter.function(&complex.frame.flat, facet.neurons[0], active);
    let lead = normal.iter().find(|x| !x.is_zero()).expect("a neuron is not constant across its facet");
    let inverse = lead.recip().expect("the leading entry is not zero");
    (normal.iter().map(|x| x * &inverse).collect(), &offset * &inverse)
}
