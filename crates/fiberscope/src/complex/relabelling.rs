//! Permutation and scaling matrices between two networks with the same function.
//!
//! [`match_folds`] reads them off the fold-set: where neuron `h` of the first network is the only one that is zero and the function bends, a general network with the same function has one neuron `g` that is zero, too. The
//! affine functions of `h` and `g` there are multiples of each other, and the factor is the scale. What is found is checked exactly: row `s_l(i)` of layer `l` of the second network, with its columns put back by the relabelling of
//! the layer before, must be a positive multiple of row `i` of the first. Where the second network is smooth, the functions differ.
//!
//! [`find_relabelling`] compares the rows without looking at the function, and [`near_relabellings`] does so up to rounding, which changes functions. Among networks that their function identifies ([`super::IdentifiabilityCertificate`]) relabelled ones are all with the same function.

use fiberscope_core::{Network, Rational, Scalar, Sign};

use crate::align::{NearRelabelling, near_relabelling};
use crate::limit::Deadline;

use super::breakpoints::BreakpointComplex;
use super::flat::FlatNetwork;
use super::oracle::{Oracle, apply};
use super::polyhedral::PolyhedralComplex;
use super::weights::WeightedFacet;

/// A permutation with scales: neuron `i` of the first network is neuron `order[i]` of the second, divided by `scales[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relabelling {
    /// Where every neuron went.
    pub order: Vec<usize>,
    /// The positive factor on its pre-activation.
    pub scales: Vec<Rational>,
}

/// What the folds of two functions say about their networks.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum FoldMatch {
    /// The second network is the first, relabelled: proved.
    Relabelled(Vec<Relabelling>),
    /// The functions differ: at this point the first bends and the second is affine.
    Different(Vec<Rational>),
    /// The folds do not tell: why.
    Open(String),
}

/// Matches the neurons of two networks by where their functions bend; the complex is that of the first network.
pub fn match_folds(
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    a: &Network,
    b: &Network,
) -> FoldMatch {
    if a.widths() != b.widths() {
        return FoldMatch::Open("the networks have different widths".into());
    }
    let other = Other { oracle: Oracle::new(b, &[]), flat: FlatNetwork::new(b) };
    let mut found: Vec<Relabelling> = Vec::new();
    for (l, layer) in other.flat.layers.iter().enumerate() {
        if !layer.relu {
            return FoldMatch::Open(format!("layer {} has no ReLU and folds nothing", l + 1));
        }
        let mut relabelling = Relabelling { order: Vec::new(), scales: Vec::new() };
        for unit in 0..layer.width {
            let own = layer.first + unit;
            let mut end =
                format!("neuron {} of layer {} has no visible fold of its own there", unit + 1, l + 1);
            let visible = |facet: &&WeightedFacet| facet.visible && facet.neurons == [own];
            let mut hit = None;
            for facet in breakpoints.facets.iter().filter(visible) {
                match other.neuron_on(complex, facet) {
                    Hit::Neuron(neuron, scale) => hit = Some((neuron, scale)),
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
            let Some((neuron, scale)) = hit else { return FoldMatch::Open(end) };
            if other.flat.layer_of[neuron] as usize != l {
                let end = format!(
                    "neuron {} of layer {} folds as a neuron of layer {} of the second network does",
                    unit + 1,
                    l + 1,
                    other.flat.layer_of[neuron] + 1
                );
                return FoldMatch::Open(end);
            }
            relabelling.order.push(neuron - layer.first);
            relabelling.scales.push(scale);
        }
        found.push(relabelling);
    }
    match is_relabelled(a, b, &found) {
        true => FoldMatch::Relabelled(found),
        false => FoldMatch::Open("the folds match, the parameters are not permuted and scaled".into()),
    }
}

/// The second network.
struct Other {
    oracle: Oracle,
    flat: FlatNetwork,
}

enum Hit {
    Neuron(usize, Rational),
    Smooth(Vec<Rational>),
    Unclear,
}

impl Other {
    /// The neuron that is zero on a facet of the first network, and its scale.
    fn neuron_on(&self, complex: &PolyhedralComplex, facet: &WeightedFacet) -> Hit {
        let d = complex.factor_dimension();
        let signs = &complex.cells[d - 1][facet.facet].signs;
        let own = &complex.frame.oracle;
        let active = |h: usize| signs[h] == Sign::Positive;
        let function = own.function(&complex.frame.flat, facet.neurons[0], active);
        let Some(x) = point_on(complex, facet, &function) else { return Hit::Unclear };
        let mut space = vec![Rational::ZERO; complex.dimension()];
        complex.inputs().iter().zip(&x).for_each(|(&i, x)| space[i] = x.clone());
        let values = self.oracle.values(&self.flat, &space);
        let zeros: Vec<usize> = (0..values.len()).filter(|&g| values[g].is_zero()).collect();
        match zeros[..] {
            [] => Hit::Smooth(space),
            [g] => {
                let (normal, offset) = self.oracle.function(&self.flat, g, |h| values[h].is_positive());
                let kept = complex.inputs().iter().map(|&i| normal[i].clone());
                let to: Vec<Rational> = kept.chain([offset]).collect();
                let from: Vec<Rational> = function.0.into_iter().chain([function.1]).collect();
                multiple(&from, &to).map_or(Hit::Unclear, |scale| Hit::Neuron(g, scale))
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
    let values = complex.frame.oracle.values(&complex.frame.flat, &x);
    let same = values.iter().zip(cell.signs()).all(|(value, sign)| value.signum() == sign.signum());
    same.then_some(x)
}

/// The rows of a layer with its bias, in the coordinates of the relabelling before.
fn rows(layer: &fiberscope_core::Layer, before: Option<&Relabelling>) -> Vec<Vec<Rational>> {
    let row = |i: usize| -> Vec<Rational> {
        let row: Vec<Rational> =
            layer.weight().row(i).iter().chain([&layer.bias()[i]]).map(Scalar::to_rational).collect();
        match before {
            None => row,
            Some(before) => {
                let back = before.order.iter().zip(&before.scales).map(|(&j, s)| &row[j] * s);
                back.chain(row.last().cloned()).collect()
            }
        }
    };
    (0..layer.width()).map(row).collect()
}

/// Whether the relabelling turns `a` into `b`, exactly.
fn is_relabelled(a: &Network, b: &Network, found: &[Relabelling]) -> bool {
    a.layers().iter().zip(b.layers()).enumerate().all(|(l, (from, to))| {
        let own = rows(from, None);
        let other = rows(to, l.checked_sub(1).map(|l| &found[l]));
        let same = match found.get(l) {
            None => own == other,
            Some(Relabelling { order, scales }) => {
                let mut targets = order.clone();
                targets.sort_unstable();
                targets.dedup();
                let scaled = |(i, row): (usize, &Vec<Rational>)| {
                    row.iter().zip(&other[order[i]]).all(|(x, y)| &(x * &scales[i]) == y)
                };
                targets.len() == own.len() && own.iter().enumerate().all(scaled)
            }
        };
        same && from.activation() == to.activation()
    })
}

/// The relabelling of every hidden layer that turns `a` into `b`, exactly; `None` if there is none.
pub fn find_relabelling(a: &Network, b: &Network) -> Option<Vec<Relabelling>> {
    if a.widths() != b.widths() {
        return None;
    }
    let mut found: Vec<Relabelling> = Vec::new();
    for (from, to) in a.hidden_layers().iter().zip(b.hidden_layers()) {
        let (own, other) = (rows(from, None), rows(to, found.last()));
        let mut order = Vec::with_capacity(own.len());
        let mut scales = Vec::with_capacity(own.len());
        for row in &own {
            let (j, scale) = (0..other.len())
                .filter(|j| !order.contains(j))
                .find_map(|j| Some((j, multiple(row, &other[j])?)))?;
            order.push(j);
            scales.push(scale);
        }
        found.push(Relabelling { order, scales });
    }
    is_relabelled(a, b, &found).then_some(found)
}

/// Whether the rows of every hidden layer tell its neurons apart: none is zero, none a positive multiple of another. Then [`find_relabelling`] misses none.
pub fn rows_tell(network: &Network) -> bool {
    network.hidden_layers().iter().all(|layer| {
        let rows = rows(layer, None);
        let alone = |i: usize| {
            rows[i].iter().any(|x| !x.is_zero()) && (0..i).all(|j| multiple(&rows[i], &rows[j]).is_none())
        };
        (0..rows.len()).all(alone)
    })
}

/// The relabelling of every hidden layer that nearly turns `a` into `b`, with the largest difference of corresponding parameters, relative to the larger
/// one, exactly ([`crate::align::near_relabelling`]); `None` if none was found in time.
pub fn near_relabellings(
    a: &Network,
    b: &Network,
    deadline: &Deadline,
) -> Option<(Vec<Relabelling>, Rational)> {
    let NearRelabelling { orders, factors, relative } = near_relabelling(a, b, deadline)?;
    let layer = |(order, factors): (Vec<usize>, Vec<Rational>)| {
        // There `b` is scaled to be `a`, here `a` to be `b`.
        let scales = factors.iter().map(Rational::recip).collect::<Option<_>>()?;
        Some(Relabelling { order, scales })
    };
    let layers = orders.into_iter().zip(factors).map(layer).collect::<Option<_>>()?;
    Some((layers, relative))
}

/// The positive `c` with `to = c from`.
fn multiple(from: &[Rational], to: &[Rational]) -> Option<Rational> {
    let lead = from.iter().position(|x| !x.is_zero());
    let Some(lead) = lead else {
        return to.iter().all(Rational::is_zero).then_some(Rational::ONE);
    };
    let c = &to[lead] / &from[lead];
    (c.is_positive() && from.iter().zip(to).all(|(x, y)| &(x * &c) == y)).then_some(c)
}
