//! The relabelling between two networks with the same function, read off where they bend.
//!
//! Where neuron `h` of the first network is the only one that is zero and the function bends, a general
//! network with the same function has one neuron `g` that is zero, too. The affine functions of `h` and `g`
//! there are multiples of each other, and the factor is the scale. What is found is checked exactly
//! ([`Relabelling::turns`]). Where the second network is smooth, the functions differ.
//!
//! Among networks that their function identifies ([`super::IdentifiabilityCertificate`]) relabelled ones are
//! all with the same function.

use fiberscope_core::{Network, Rational, Sign, ratio_of};

use crate::orbit::{LayerRelabelling, Relabelling};

use super::arbiter::{Arbiter, apply};
use super::breakpoints::BreakpointComplex;
use super::flat::FlatNetwork;
use super::polyhedral::PolyhedralComplex;
use super::weights::WeightedFacet;

/// What the folds of two functions say about their networks.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum FoldMatch {
    /// The second network is the first, relabelled: proved. The relabelling turns the second into the first.
    Relabelled(Relabelling),
    /// The functions differ: at this point the first bends and the second is affine.
    Different(Vec<Rational>),
    /// The folds do not tell: why.
    Open(String),
}

/// Matches the neurons of two networks by where their functions bend; the complex is that of the first
/// network.
pub fn match_folds(
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    a: &Network,
    b: &Network,
) -> FoldMatch {
    if a.widths() != b.widths() {
        return FoldMatch::Open("the networks have different widths".into());
    }
    let other = Other { arbiter: Arbiter::new(b, &[]), flat: FlatNetwork::new(b) };
    let mut found = Relabelling::default();
    for (l, layer) in other.flat.layers.iter().enumerate() {
        if !layer.relu {
            return FoldMatch::Open(format!("layer {} has no ReLU and folds nothing", l + 1));
        }
        let mut relabelling = LayerRelabelling::default();
        for unit in 0..layer.width {
            let own = layer.first + unit;
            let mut end =
                format!("neuron {} of layer {} has no visible fold of its own there", unit + 1, l + 1);
            let visible = |facet: &&WeightedFacet| facet.visible && facet.neurons == [own];
            let mut hit = None;
            for facet in breakpoints.facets.iter().filter(visible) {
                match other.neuron_on(complex, facet) {
                    Hit::Neuron(neuron, factor) => hit = Some((neuron, factor)),
                    Hit::Smooth(x) => return FoldMatch::Different(x),
                    Hit::Unclear => {
                        end = format!(
                            "at the folds of neuron {} of layer {} the second network has no single neuron",
                            unit + 1,
                            l + 1
                        );
                        continue;
                    }
                }
                break;
            }
            let Some((neuron, factor)) = hit else { return FoldMatch::Open(end) };
            if other.flat.layer_of[neuron] as usize != l {
                let end = format!(
                    "neuron {} of layer {} folds as a neuron of layer {} of the second network does",
                    unit + 1,
                    l + 1,
                    other.flat.layer_of[neuron] + 1
                );
                return FoldMatch::Open(end);
            }
            relabelling.push(neuron - layer.first, factor);
        }
        found.layers.push(relabelling);
    }
    match found.turns(&b.to_exact(), &a.to_exact()) {
        true => FoldMatch::Relabelled(found),
        false => FoldMatch::Open("the folds match, the parameters are not permuted and scaled".into()),
    }
}

/// The second network.
struct Other {
    arbiter: Arbiter,
    flat: FlatNetwork,
}

enum Hit {
    Neuron(usize, Rational),
    Smooth(Vec<Rational>),
    Unclear,
}

impl Other {
    /// The neuron that is zero on a facet of the first network, and the factor that makes the first network's
    /// neuron of it.
    fn neuron_on(&self, complex: &PolyhedralComplex, facet: &WeightedFacet) -> Hit {
        let d = complex.factor_dimension();
        let signs = complex.cells[d - 1].signs(facet.facet);
        let own = &complex.frame.arbiter;
        let active = |h: usize| signs[h] == Sign::Positive;
        let function = own.function(&complex.frame.flat, facet.neurons[0], active);
        let Some(x) = point_on(complex, facet, &function) else { return Hit::Unclear };
        let mut space = vec![Rational::ZERO; complex.dimension()];
        complex.inputs().iter().zip(&x).for_each(|(&i, x)| space[i] = x.clone());
        let values = self.arbiter.values(&self.flat, &space);
        let zeros: Vec<usize> = (0..values.len()).filter(|&g| values[g].is_zero()).collect();
        match zeros[..] {
            [] => Hit::Smooth(space),
            [g] => {
                let (normal, offset) = self.arbiter.function(&self.flat, g, |h| values[h].is_positive());
                let kept = complex.inputs().iter().map(|&i| normal[i].clone());
                let to: Vec<Rational> = kept.chain([offset]).collect();
                let from: Vec<Rational> = function.0.into_iter().chain([function.1]).collect();
                let factor = ratio_of(to.iter(), from.iter()).filter(Rational::is_positive);
                factor.map_or(Hit::Unclear, |factor| Hit::Neuron(g, factor))
            }
            _ => Hit::Unclear,
        }
    }
}

/// A point inside a facet, exactly: the mean of its vertices in doubles, moved into the hyperplane.
fn point_on(
    complex: &PolyhedralComplex,
    facet: &WeightedFacet,
    function: &(Vec<Rational>, Rational),
) -> Option<Vec<Rational>> {
    let d = complex.factor_dimension();
    let cell = complex.cell(d - 1, facet.facet);
    let vertices = cell.vertices();
    let mean = |i: usize| {
        vertices.iter().map(|&v| complex.point(v as usize)[i]).sum::<f64>() / vertices.len() as f64
    };
    let center: Vec<Rational> = (0..d).map(|i| Rational::from_f64(mean(i))).collect::<Option<_>>()?;
    let length: Rational = function.0.iter().map(|x| x * x).sum();
    let step = &apply(function, &center) / &length;
    let x: Vec<Rational> = center.iter().zip(&function.0).map(|(x, n)| x - &(&step * n)).collect();
    let values = complex.frame.arbiter.values(&complex.frame.flat, &x);
    let same = values.iter().zip(cell.signs()).all(|(value, sign)| value.signum() == sign.signum());
    same.then_some(x)
}
