//! What has been found: for every neuron the span of what its folds say of its own row.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use fiberscope_check::rank::{Echelon, Pattern, ResidueNetwork};
use fiberscope_core::{FoldPair, Network, Neuron, RankEvidence, Rational};

use super::walker::{Crossing, Mask};

/// How many starting points on its fold are kept for a neuron.
const STARTS: usize = 12;

/// Evidence as it grows.
pub struct Gathered {
    residues: ResidueNetwork,
    inputs: Vec<usize>,
    outputs_width: usize,
    neurons: Vec<Vec<OwnRows>>,
    last: Echelon,
    last_needed: usize,
    points: Vec<Vec<f64>>,
    patterns: Vec<Pattern>,
    places: HashMap<Vec<u64>, usize>,
    folds: Vec<FoldPair>,
    outputs: Vec<usize>,
}

/// What is known of one neuron.
#[derive(Default)]
struct OwnRows {
    rows: Echelon,
    seen: HashSet<u64>,
    starts: Vec<(Vec<f64>, Mask)>,
    /// Which neurons of the layer before were on at a fold that counted.
    met: Vec<bool>,
}

impl Gathered {
    /// Nothing yet.
    pub fn new(network: &Network) -> Self {
        let widths = network.widths();
        let neuron = |l: usize| OwnRows { met: vec![false; widths[l]], ..OwnRows::default() };
        let own = |l: usize| (0..widths[l + 1]).map(|_| neuron(l)).collect();
        Gathered {
            residues: ResidueNetwork::new(network),
            neurons: (0..network.hidden_depth()).map(own).collect(),
            last: Echelon::default(),
            last_needed: widths[widths.len() - 2] + 1,
            outputs_width: widths[widths.len() - 1],
            inputs: widths,
            points: Vec::new(),
            patterns: Vec::new(),
            places: HashMap::new(),
            folds: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// The residues of the network.
    pub fn residues(&self) -> &ResidueNetwork {
        &self.residues
    }

    /// The rank that the evidence shows so far.
    pub fn rank(&self) -> usize {
        let own: usize = self.neurons.iter().flatten().map(|own| own.rows.rank()).sum();
        own + self.last.rank() * self.outputs_width
    }

    /// What is missing for a neuron.
    pub fn missing(&self, neuron: Neuron) -> usize {
        self.inputs[neuron.layer] - self.neurons[neuron.layer][neuron.unit].rows.rank()
    }

    /// The neurons of which something is missing.
    pub fn incomplete(&self) -> Vec<Neuron> {
        let all = self.neurons.iter().enumerate();
        let all = all.flat_map(|(layer, own)| (0..own.len()).map(move |unit| Neuron { layer, unit }));
        all.filter(|&neuron| self.missing(neuron) > 0).collect()
    }

    /// What is missing for the rows of the last layer.
    pub fn last_missing(&self) -> usize {
        self.last_needed - self.last.rank()
    }

    /// Points on the fold of a neuron.
    pub fn starts(&self, neuron: Neuron) -> &[(Vec<f64>, Mask)] {
        &self.neurons[neuron.layer][neuron.unit].starts
    }

    /// The neurons of the layer before that were off at all folds of a neuron that counted.
    pub fn never_on(&self, neuron: Neuron) -> Vec<usize> {
        let met = &self.neurons[neuron.layer][neuron.unit].met;
        if neuron.layer == 0 { Vec::new() } else { (0..met.len()).filter(|&k| !met[k]).collect() }
    }

    /// The patterns of the points used.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether a crossing may add something, as far as its mask tells.
    pub fn wants(&self, crossing: &Crossing) -> bool {
        self.gains(crossing.neuron, &crossing.mask)
    }

    /// Whether the fold of a neuron would add something where the layers before have this pattern.
    pub fn gains(&self, neuron: Neuron, mask: &Mask) -> bool {
        let Neuron { layer, unit } = neuron;
        let own = &self.neurons[layer][unit];
        if self.missing(neuron) == 0 || own.seen.contains(&key(&mask[..layer])) {
            return false;
        }
        if own.rows.rank() == 0 {
            return true;
        }
        let mut rows = self.residues.fold_rows(mask, layer, unit).into_iter();
        rows.any(|mut row| {
            let width = row.len();
            own.rows.eliminate(&mut row, width).is_some()
        })
    }

    /// Takes a crossing whose points have these patterns, exactly; whether it added something.
    pub fn take(&mut self, crossing: &Crossing, patterns: [Pattern; 2]) -> bool {
        let Neuron { layer, unit } = crossing.neuron;
        if !differ_at(&patterns, crossing.neuron) || self.missing(crossing.neuron) == 0 {
            return false;
        }
        let own = &mut self.neurons[layer][unit];
        let region = key(&patterns[0][..layer]);
        if own.seen.contains(&region) {
            return false;
        }
        if own.starts.len() < STARTS {
            let middle = crossing.points[0].iter().zip(&crossing.points[1]).map(|(x, y)| x / 2.0 + y / 2.0);
            own.starts.push((middle.collect(), patterns[0].clone()));
        }
        // Another pattern behind it may let the same fold through.
        if !self.residues.reaches_output(&patterns[0], layer, unit) {
            return false;
        }
        own.seen.insert(region);
        let before = own.rows.rank();
        self.residues
            .fold_rows(&patterns[0], layer, unit)
            .into_iter()
            .for_each(|row| _ = own.rows.insert(row));
        if own.rows.rank() == before {
            return false;
        }
        if layer > 0 {
            own.met.iter_mut().zip(&patterns[0][layer - 1]).for_each(|(met, on)| *met |= on);
        }
        let [p, q] = patterns;
        let points = (self.place(&crossing.points[0], p), self.place(&crossing.points[1], q));
        self.folds.push(FoldPair { neuron: crossing.neuron, points });
        true
    }

    /// The number of a point, which is added if it is new.
    pub fn place(&mut self, point: &[f64], pattern: Pattern) -> usize {
        let bits: Vec<u64> = point.iter().map(|x| (x + 0.0).to_bits()).collect();
        if let Some(&place) = self.places.get(&bits) {
            return place;
        }
        self.points.push(point.to_vec());
        self.places.insert(bits, self.points.len() - 1);
        // The rows of the last layer come by the way.
        if self.last_missing() > 0 {
            let before = self.last.rank();
            self.residues.output_rows(&pattern).into_iter().for_each(|row| _ = self.last.insert(row));
            if self.last.rank() > before {
                self.outputs.push(self.points.len() - 1);
            }
        }
        self.patterns.push(pattern);
        self.points.len() - 1
    }

    /// The evidence, in the order of a certificate.
    pub fn evidence(&self, extra: Vec<usize>, rank: usize) -> RankEvidence {
        let mut folds = self.folds.clone();
        folds.sort_by_key(|fold| (fold.neuron.layer, fold.neuron.unit));
        let exact = |x: &f64| Rational::from_f64(*x).expect("points are finite");
        let points = self.points.iter().map(|point| point.iter().map(exact).collect()).collect();
        RankEvidence { points, folds, outputs: self.outputs.clone(), extra, rank: rank as u64 }
    }
}

/// Whether two patterns differ at a neuron and nowhere else.
fn differ_at([p, q]: &[Pattern; 2], neuron: Neuron) -> bool {
    let differences = p.iter().zip(q).enumerate().flat_map(|(layer, (p, q))| {
        let places = p.iter().zip(q).enumerate().filter(|(_, (p, q))| p != q);
        places.map(move |(unit, _)| Neuron { layer, unit })
    });
    let mut differences = differences.take(2);
    differences.next() == Some(neuron) && differences.next().is_none()
}

fn key(layers: &[Vec<bool>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    layers.hash(&mut hasher);
    hasher.finish()
}
