//! The relabelling between two networks with the same function, read off where they bend.
//!
//! Where neuron `h` of the first network is the only one that is zero and the function bends, a general
//! network with the same function has one neuron `g` that is zero, too. The affine functions of `h` and `g`
//! there are multiples of each other, and the factor is the scale. What is found is checked exactly
//! ([`Relabelling::turns`]). Where the second network is smooth, the functions differ.
//!
//! A network that was scaled by real numbers and stored in doubles bends beside the first, not where it does.
//! Then the neuron of the second network is wanted whose function there has nearly the same quotients, entry
//! by entry, and the factor is the number near them that was most likely meant; how far the parameters are
//! apart after the relabelling is computed exactly.
//!
//! Among networks that their function identifies ([`super::IdentifiabilityCertificate`]) relabelled ones are
//! all with the same function.

use fiberscope_core::{Network, Rational, Sign, ratio_of};

use crate::orbit::{LayerRelabelling, NearRelabelling, Relabelling, near_ratio};

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
    /// The second network is the first, relabelled, up to rounding, which is said; where it makes the
    /// functions differ, a point where the first bends and the second is affine.
    Nearly(NearRelabelling, Option<Vec<Rational>>),
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
    let exact = match exactly(&other, complex, breakpoints) {
        Ok(found) if found.turns(&b.to_exact(), &a.to_exact()) => return FoldMatch::Relabelled(found),
        Ok(_) => FoldMatch::Open("the folds match, the parameters are not permuted and scaled".into()),
        Err(end) => end,
    };
    let found = nearly(&other, complex, breakpoints);
    let near = found.and_then(|found| NearRelabelling::of(found, &a.to_exact(), b.to_exact()));
    match (near, exact) {
        (Some(near), FoldMatch::Different(x)) => FoldMatch::Nearly(near, Some(x)),
        (Some(near), _) => FoldMatch::Nearly(near, None),
        (None, exact) => exact,
    }
}

/// The relabelling that the folds tell exactly, or why they do not.
fn exactly(
    other: &Other,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
) -> Result<Relabelling, FoldMatch> {
    let mut found = Relabelling::default();
    for (l, layer) in other.flat.layers.iter().enumerate() {
        if !layer.relu {
            return Err(FoldMatch::Open(format!("layer {} has no ReLU and folds nothing", l + 1)));
        }
        let mut relabelling = LayerRelabelling::default();
        for unit in 0..layer.width {
            let own = layer.first + unit;
            let mut end =
                format!("neuron {} of layer {} has no visible fold of its own there", unit + 1, l + 1);
            let mut hit = None;
            for facet in own_folds(breakpoints, own) {
                match other.neuron_on(complex, facet) {
                    Hit::Neuron(neuron, factor) => hit = Some((neuron, factor)),
                    Hit::Smooth(x) => return Err(FoldMatch::Different(x)),
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
            let Some((neuron, factor)) = hit else { return Err(FoldMatch::Open(end)) };
            if other.flat.layer_of[neuron] as usize != l {
                let end = format!(
                    "neuron {} of layer {} folds as a neuron of layer {} of the second network does",
                    unit + 1,
                    l + 1,
                    other.flat.layer_of[neuron] + 1
                );
                return Err(FoldMatch::Open(end));
            }
            relabelling.push(neuron - layer.first, factor);
        }
        found.layers.push(relabelling);
    }
    Ok(found)
}

/// The relabelling that the folds tell up to rounding, if they do.
fn nearly(
    other: &Other,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
) -> Option<Relabelling> {
    let mut found = Relabelling::default();
    for layer in &other.flat.layers {
        let mut relabelling = LayerRelabelling::default();
        for own in layer.first..layer.first + layer.width {
            let free = |g: &usize| !relabelling.order.contains(&(g - layer.first));
            let free: Vec<usize> = (layer.first..layer.first + layer.width).filter(free).collect();
            let mut folds = own_folds(breakpoints, own);
            let (neuron, factor) = folds.find_map(|facet| other.neuron_near(complex, facet, &free))?;
            relabelling.push(neuron - layer.first, factor);
        }
        found.layers.push(relabelling);
    }
    Some(found)
}

/// The visible facets on which a neuron alone is zero.
fn own_folds(breakpoints: &BreakpointComplex, own: usize) -> impl Iterator<Item = &WeightedFacet> {
    breakpoints.facets.iter().filter(move |facet| facet.visible && facet.neurons == [own])
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

/// A point on a facet of the first network, and what is there.
struct Place {
    /// The point.
    point: Vec<Rational>,
    /// The function of the first network's neuron, its constant last.
    function: Vec<Rational>,
    /// The values of the second network's neurons.
    values: Vec<Rational>,
}

impl Other {
    fn place(&self, complex: &PolyhedralComplex, facet: &WeightedFacet) -> Option<Place> {
        let d = complex.factor_dimension();
        let signs = complex.level(d - 1).signs(facet.facet);
        let active = |h: usize| signs[h] == Sign::Positive;
        let function = complex.frame.arbiter.function(&complex.frame.flat, facet.neurons[0], active);
        let x = point_on(complex, facet, &function)?;
        let mut point = vec![Rational::ZERO; complex.dimension()];
        complex.inputs().iter().zip(&x).for_each(|(&i, x)| point[i] = x.clone());
        let values = self.arbiter.values(&self.flat, &point);
        Some(Place { point, function: function.0.into_iter().chain([function.1]).collect(), values })
    }

    /// The function of a neuron of the second network at a place, in the inputs of the complex.
    fn function(&self, complex: &PolyhedralComplex, neuron: usize, place: &Place) -> Vec<Rational> {
        let (normal, offset) = self.arbiter.function(&self.flat, neuron, |h| place.values[h].is_positive());
        complex.inputs().iter().map(|&i| normal[i].clone()).chain([offset]).collect()
    }

    /// The neuron that is zero on a facet of the first network, and the factor that makes the first network's
    /// neuron of it.
    fn neuron_on(&self, complex: &PolyhedralComplex, facet: &WeightedFacet) -> Hit {
        let Some(place) = self.place(complex, facet) else { return Hit::Unclear };
        let zeros: Vec<usize> = (0..place.values.len()).filter(|&g| place.values[g].is_zero()).collect();
        match zeros[..] {
            [] => Hit::Smooth(place.point),
            [g] => {
                let to = self.function(complex, g, &place);
                let factor = ratio_of(to.iter(), place.function.iter()).filter(Rational::is_positive);
                factor.map_or(Hit::Unclear, |factor| Hit::Neuron(g, factor))
            }
            _ => Hit::Unclear,
        }
    }

    /// The one among some neurons whose function on a facet is nearly a multiple of the first network's, with
    /// the factor.
    fn neuron_near(
        &self,
        complex: &PolyhedralComplex,
        facet: &WeightedFacet,
        among: &[usize],
    ) -> Option<(usize, Rational)> {
        let place = self.place(complex, facet)?;
        among.iter().find_map(|&g| {
            let to = self.function(complex, g, &place);
            near_ratio(&place.function, &to).map(|factor| (g, factor))
        })
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
