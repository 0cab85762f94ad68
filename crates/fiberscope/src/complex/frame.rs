//! The set on which a complex is computed: the box, or a box that stands for the whole space.
//!
//! On `R^n` the network is restricted to inputs whose columns are a basis of the column space of `W_1`, the
//! others being zero: every input is equivalent to one of these modulo the kernel of `W_1`, so that the
//! complex is the product of the restricted one with a space of dimension `n - rank W_1`, and the restricted
//! one has a vertex in every cell. A box stands for the space if it meets every cell.
//!
//! **Lemma.** This is so if every edge of the complex that leaves the box goes on for ever. *Proof.* The
//! graph of the complex is connected (every cell has a vertex, neighbouring regions share a facet). A path
//! from a vertex inside to one outside would leave the box along an edge that ends outside. So all vertices,
//! and with them a point of every cell, are inside. ∎
//!
//! An edge from `w` through the side of the box at `v` goes on for ever iff no neuron comes closer to zero
//! from `w` to `v`.

use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::{Domain, Layer, Matrix, Network, Rational, Scalar};

use super::ComplexError;
use super::affine::Precision;
use super::arbiter::Arbiter;
use super::count::SideKind;
use super::errors::sure_sign;
use super::flat::{Bounded, FlatNetwork, SAFE};
use super::newton::{Incidence, Newton};
use super::skeleton::Skeleton;

/// A network on a bounded box.
pub(crate) struct Frame {
    pub network: Network,
    pub flat: FlatNetwork,
    pub arbiter: Arbiter,
    pub sides: Vec<[f64; 2]>,
    pub kinds: Vec<[SideKind; 2]>,
    /// The inputs that were kept.
    pub kept: Vec<usize>,
    /// How many dimensions were left out.
    pub extra: usize,
    /// Whether the box stands for the whole space.
    pub whole: bool,
}

/// How much further than the last crossing a box reaches.
const BEYOND: f64 = 16.0;
/// The smallest box tried for the whole space, in units of the first layer's distances. Distances of vertices
/// have no mean, so that the farthest of thousands is thousands of times as far as most.
const REACH: f64 = 4096.0;

/// No box for the whole space reaches much farther: its sides would not be doubles.
const FARTHEST: f64 = 1e300;

/// The most inputs for which the corners of a box are listed.
const CORNERS: usize = 20;

impl Frame {
    /// The same, if the corners of the box can be listed.
    pub fn with_corners(network: &Network, domain: &Domain) -> Result<Self, ComplexError> {
        let frame = Frame::new(network, domain)?;
        match frame.dimension() > CORNERS {
            true => Err(ComplexError::TooManyDimensions { dimensions: frame.dimension(), most: CORNERS }),
            false => Ok(frame),
        }
    }

    /// The network on a domain; for the space, on a first box.
    pub fn new(network: &Network, domain: &Domain) -> Result<Self, ComplexError> {
        domain.check(network.input_width())?;
        match domain {
            Domain::Space => Ok(Frame::of_space(network)),
            Domain::Box(intervals) => {
                let mut sides = Vec::with_capacity(intervals.len());
                for (i, interval) in intervals.iter().enumerate() {
                    let (Some(lower), Some(upper)) = (&interval.lower, &interval.upper) else {
                        return Err(ComplexError::HalfBounded { input: i + 1 });
                    };
                    if lower >= upper {
                        let (lower, upper) = (lower.to_f64(), upper.to_f64());
                        return Err(ComplexError::Flat { input: i + 1, lower, upper });
                    }
                    if !lower.is_f64() || !upper.is_f64() {
                        return Err(ComplexError::NotDouble { input: i + 1 });
                    }
                    sides.push([lower.to_f64(), upper.to_f64()]);
                }
                let kinds = vec![[SideKind::Boundary; 2]; sides.len()];
                let kept = (0..sides.len()).collect();
                Ok(Frame::of_parts(network.clone(), sides, kinds, kept, 0, false))
            }
        }
    }

    fn of_parts(
        network: Network,
        sides: Vec<[f64; 2]>,
        kinds: Vec<[SideKind; 2]>,
        kept: Vec<usize>,
        extra: usize,
        whole: bool,
    ) -> Self {
        let flat = FlatNetwork::new(&network);
        let arbiter = Arbiter::new(&network, &sides);
        Frame { network, flat, arbiter, sides, kinds, kept, extra, whole }
    }

    fn of_space(network: &Network) -> Self {
        let inputs = network.input_width();
        let first = &network.layers()[0];
        let mut kept = independent_rows(&first.weight().map(Scalar::to_rational).transpose());
        if network.hidden_depth() == 0 || kept.is_empty() {
            kept = vec![0];
        }
        let mut layers = network.layers().to_vec();
        layers[0] =
            Layer::new(first.weight().select_columns(&kept), first.bias().to_vec(), first.activation());
        let network = Network::new(layers).expect("the shapes still chain");
        let scale = |(row, b): (&[f64], &f64)| {
            let size = row.iter().fold(0.0f64, |m, w| m.max(w.abs()));
            if size > 0.0 { (b / size).abs() } else { 0.0 }
        };
        let first = &network.layers()[0];
        let reach = first.weight().iter_rows().zip(first.bias()).map(scale).fold(1.0, f64::max);
        let d = kept.len();
        let sides = sides_of(d, (REACH * reach).min(FARTHEST));
        let kinds = vec![[SideKind::Infinity; 2]; d];
        Frame::of_parts(network, sides, kinds, kept, inputs - d, true)
    }

    /// With a box that reaches well beyond a crossing: there are often more behind it.
    pub fn widen_beyond(&mut self, crossing: f64) -> Result<(), ComplexError> {
        self.widened(self.beyond(crossing)?);
        Ok(())
    }

    /// A reach well beyond a crossing.
    pub fn beyond(&self, crossing: f64) -> Result<f64, ComplexError> {
        match self.reach() < FARTHEST {
            true => Ok((BEYOND * crossing.max(self.reach())).min(FARTHEST)),
            false => Err(ComplexError::TooFar { reach: FARTHEST }),
        }
    }

    /// With a box that reaches so far, if it stands for the space.
    pub fn reaching(mut self, reach: Option<f64>) -> Self {
        if let Some(reach) = reach.filter(|_| self.whole) {
            self.widened(reach);
        }
        self
    }

    /// With a box that reaches at least so far.
    fn widened(&mut self, reach: f64) {
        self.sides = sides_of(self.sides.len(), reach);
        self.arbiter = self.arbiter.with_sides(&self.sides);
    }

    /// With a wide box if it stands for the space.
    #[cfg(test)]
    pub fn widened_for_test(&mut self, reach: f64) {
        if self.whole {
            self.widened(reach);
        }
    }

    pub fn dimension(&self) -> usize {
        self.sides.len()
    }

    pub fn reach(&self) -> f64 {
        self.sides.iter().flatten().fold(0.0, |m, x| x.abs().max(m))
    }

    /// How far the box should reach, if some edge that leaves it ends outside.
    pub fn outside(&self, skeleton: &Skeleton, arbiter: &Arbiter, kinds: &[[SideKind; 2]]) -> Option<f64> {
        let neurons = self.flat.neurons;
        let mut needed: Option<f64> = None;
        let inner = |v: usize| skeleton.zeros_of(v).iter().filter(|&&h| h as usize >= neurons).count() == 1;
        let infinite =
            |h: usize| h >= neurons && kinds[(h - neurons) / 2][(h - neurons) % 2] == SideKind::Infinity;
        for edge in &skeleton.edges {
            for end in 0..2 {
                let [v, w] = [edge.ends[end] as usize, edge.ends[1 - end] as usize];
                if infinite((edge.left[end] >> 1) as usize) && inner(v) {
                    let reach = self.crossing(skeleton, arbiter, v, w);
                    needed = needed.into_iter().chain(reach).reduce(f64::max);
                }
            }
        }
        needed
    }

    /// Where the line from `w` through `v` is cut next, in the largest coordinate.
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn crossing(&self, skeleton: &Skeleton, arbiter: &Arbiter, v: usize, w: usize) -> Option<f64> {
        let [at_v, at_w] = [v, w].map(|v| self.values(skeleton.point(v), skeleton.distance[v]));
        let mut exact: Option<[(Vec<Rational>, Rational); 2]> = None;
        let mut varying: Option<Vec<bool>> = None;
        let mut least = f64::INFINITY;
        for neuron in 0..self.flat.neurons {
            let error = (at_v.errors[neuron] + at_w.errors[neuron]) * (1.0 + 1e-9);
            let shared = |v: usize| skeleton.zeros_of(v).contains(&(neuron as u32));
            if shared(v) || shared(w) {
                // Zero on the edge, or at its inner end.
                continue;
            }
            let value = at_v.values[neuron];
            let has_sign = value.abs() > at_v.errors[neuron];
            let growth = value.signum() * (value - at_w.values[neuron]);
            if has_sign && growth > error {
                continue;
            }
            if has_sign && growth < -error {
                least = least.min((value / growth).abs().min(f64::MAX));
                continue;
            }
            if !varying.get_or_insert_with(|| self.varying(skeleton, v, w))[neuron] {
                continue;
            }
            let rises = self.sure_growth(skeleton, arbiter, [v, w], neuron).filter(|_| has_sign);
            if rises == Some(value > 0.0) {
                continue;
            }
            let [(x, p), (y, q)] = exact.get_or_insert_with(|| {
                [v, w].map(|v| {
                    let x = arbiter
                        .vertex(&self.flat, skeleton.zeros_of(v), skeleton.signs_of(v))
                        .expect("the hyperplanes of a vertex are independent");
                    arbiter.scaled_values(&self.flat, &x)
                })
            });
            let (size, growth) = (&x[neuron] * &*q, &(&x[neuron] * &*q) - &(&y[neuron] * &*p));
            if size.signum() * growth.signum() < 0 {
                // What is no double is far, but there.
                least = least.min((&size / &growth).to_f64().abs().min(f64::MAX));
            }
        }
        let far = |(x, y): (&f64, &f64)| (x + least * (x - y)).abs();
        least.is_finite().then(|| {
            skeleton.point(v).iter().zip(skeleton.point(w)).map(far).fold(0.0, f64::max).min(FARTHEST)
        })
    }

    /// Whether a neuron grows from `w` to `v`, if twofold arithmetic is sure.
    fn sure_growth(
        &self,
        skeleton: &Skeleton,
        arbiter: &Arbiter,
        ends: [usize; 2],
        neuron: usize,
    ) -> Option<bool> {
        let (l, last) = (self.flat.layer_of[neuron] as usize, self.flat.layers.len() - 1);
        let mut newton = Newton::default();
        let [(at_v, error_v), (at_w, error_w)] = ends.map(|v| {
            let (zeros, signs) = (skeleton.zeros_of(v), skeleton.signs_of(v));
            let at = Incidence { network: &self.flat, sides: arbiter.sides(), zeros, signs };
            newton.step(&at, last, skeleton.point(v), Precision::Double);
            let point = newton.point.clone();
            newton.step(&at, last, &point, Precision::Twofold);
            newton.pass(&at, l, &point, Precision::Twofold);
            newton.value(neuron - self.flat.layers[l].first)
        });
        sure_sign(at_v - at_w, (error_v + error_w) * SAFE)
    }

    /// For every ReLU neuron whether it may vary along an edge: not if it has no input that is on and varies,
    /// nor if the zeros of the edge leave it no choice.
    ///
    /// Let `s` be the slopes along the edge of the neurons of a layer that are on and may vary. A neuron of
    /// the next layer that does not vary has slope 0, a linear equation for `s`; if such equations have full
    /// rank, then `s = 0`. On rays this is usual where few neurons are on.
    fn varying(&self, skeleton: &Skeleton, v: usize, w: usize) -> Vec<bool> {
        let zeros = |h: usize| [v, w].iter().all(|&v| skeleton.zeros_of(v).contains(&(h as u32)));
        let mut constant: Vec<bool> = (0..self.flat.neurons).map(zeros).collect();
        let varying = self.reached(skeleton, v, w, &constant);
        for pair in self.flat.layers.windows(2).rev() {
            let [below, layer] = pair else { continue };
            if !below.relu || !layer.relu {
                continue;
            }
            let is_on = |&unit: &usize| {
                let (word, bit) = self.flat.place(below.first + unit);
                (skeleton.signs_of(v)[word] | skeleton.signs_of(w)[word]) & bit != 0
            };
            let inputs: Vec<usize> =
                (0..below.width).filter(is_on).filter(|unit| varying[below.first + unit]).collect();
            let rows: Vec<usize> = (0..layer.width).filter(|unit| constant[layer.first + unit]).collect();
            if inputs.is_empty() || rows.len() < inputs.len() {
                continue;
            }
            let entry =
                |i: usize, j: usize| Rational::from_f64(layer.weight[rows[i] * layer.inputs + inputs[j]]);
            let equations =
                Matrix::from_fn(rows.len(), inputs.len(), |i, j| entry(i, j).expect("weights are finite"));
            if rank_at_most(&equations, inputs.len()) == inputs.len() {
                inputs.iter().for_each(|unit| constant[below.first + unit] = true);
            }
        }
        self.reached(skeleton, v, w, &constant)
    }

    /// For every ReLU neuron whether it has an input that is on and varies, and is not known to be constant
    /// itself.
    fn reached(&self, skeleton: &Skeleton, v: usize, w: usize, constant: &[bool]) -> Vec<bool> {
        let mut varying = Vec::with_capacity(self.flat.neurons);
        let mut below = vec![true; self.dimension()];
        for layer in &self.flat.layers {
            let depends =
                |row: &[f64]| row.iter().zip(&below).any(|(weight, varies)| *weight != 0.0 && *varies);
            let mut own: Vec<bool> = layer.weight.chunks_exact(layer.inputs).map(depends).collect();
            if layer.relu {
                own.iter_mut().zip(&constant[layer.first..]).for_each(|(own, constant)| *own &= !constant);
            }
            below.clone_from(&own);
            if layer.relu {
                for (unit, varies) in below.iter_mut().enumerate() {
                    let (word, bit) = self.flat.place(layer.first + unit);
                    *varies &= (skeleton.signs_of(v)[word] | skeleton.signs_of(w)[word]) & bit != 0;
                }
                varying.extend(own);
            }
        }
        varying
    }

    /// All pre-activations of ReLU neurons near a point.
    fn values(&self, x: &[f64], distance: f64) -> Bounded {
        let mut all = Bounded::default();
        let mut a = Bounded { values: x.to_vec(), errors: vec![distance; x.len()] };
        for layer in &self.flat.layers {
            a = a.forward(layer);
            if layer.relu {
                all.values.extend_from_slice(&a.values);
                all.errors.extend_from_slice(&a.errors);
                a.rectify();
            }
        }
        all
    }
}

/// Sides at different distances, so that no corner of the box is special.
fn sides_of(d: usize, reach: f64) -> Vec<[f64; 2]> {
    let fraction = |k: usize| (k as f64 * 0.618_033_988_749_894_9 + 0.137).fract();
    (0..d)
        .map(|i| [-reach * (1.0 + 0.2 * fraction(2 * i)), reach * (1.0 + 0.2 * fraction(2 * i + 1))])
        .collect()
}
