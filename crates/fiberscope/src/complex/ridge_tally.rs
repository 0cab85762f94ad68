//! What holds at ridges, added up: how the weights of the facets around each balance, which facets continue each
//! other, and what that says about layers ([`super::breakpoints`]).

use fiberscope_algebra::dense::{dot, norm};

use super::surfaces::Surfaces;

/// What ridges ask of the facets, side by side in memory.
pub(crate) struct Sheets {
    pub sheets: Vec<Sheet>,
    /// The unit normals, facet after facet.
    pub normals: Vec<f64>,
    /// The weights, facet after facet.
    pub weights: Vec<f64>,
    /// The number of inputs, and of outputs.
    pub shape: [usize; 2],
}

#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    pub layer: u32,
    pub visible: bool,
    /// Whether the function is constant on a region beside it, as far as doubles tell.
    pub beside_constant: bool,
    /// The length of the weight.
    pub size: f64,
}

impl Sheets {
    fn is_visible(&self, at: u32) -> bool {
        self.sheets[at as usize].visible
    }

    pub fn normal(&self, at: u32) -> &[f64] {
        let [d, _] = self.shape;
        &self.normals[at as usize * d..(at as usize + 1) * d]
    }

    fn weight(&self, at: u32) -> &[f64] {
        let [_, outputs] = self.shape;
        &self.weights[at as usize * outputs..(at as usize + 1) * outputs]
    }
}

/// A facet at a ridge.
#[derive(Clone, Copy)]
pub(crate) struct Blade {
    /// Its number.
    pub at: u32,
    /// The number of the one that continues it in its hyperplane.
    pub opposite: Option<u32>,
}

/// What holds at some ridges.
#[derive(Default)]
pub(crate) struct RidgeTally {
    pub ridges: usize,
    /// The largest error of the balance, relative to the weights around the ridge.
    pub imbalance: f64,
    /// Ridges at which a visible facet bends.
    pub bending: usize,
    /// Ridges where layers meet, all facets visible, and nothing bends.
    pub dishonest: usize,
    /// Facets that are one surface.
    joined: Vec<[u32; 2]>,
    /// Facets of which the first is on a lower layer.
    below: Vec<[u32; 2]>,
}

impl RidgeTally {
    /// Adds a ridge: the facets around it, and for each the unit vector normal to the ridge that points into it.
    pub fn add(&mut self, sheets: &Sheets, blades: &[Blade], inward: &[f64]) {
        self.ridges += 1;
        self.imbalance = self.imbalance.max(imbalance(sheets, blades, inward));
        let mut bent = bent(sheets, blades);
        let bent: [Option<u32>; 4] = std::array::from_fn(|_| bent.next());
        let visible = || blades.iter().filter(|b| sheets.is_visible(b.at));
        let (count, bends) = (visible().count(), bent[0].is_some());
        self.bending += usize::from(bends && count > 2);
        let layer = |b: &Blade| sheets.sheets[b.at as usize].layer;
        let several = blades.iter().any(|b| layer(b) != layer(&blades[0]));
        self.dishonest += usize::from(!bends && several && count == blades.len());
        for blade in visible() {
            let told = |other: u32| {
                other < blade.at && blades.iter().any(|b| b.at == other && b.opposite == Some(blade.at))
            };
            let opposite = blade.opposite.filter(|&other| sheets.is_visible(other) && !told(other));
            self.joined.extend(opposite.map(|other| [blade.at, other]));
        }
        match (count, bent) {
            (4, [Some(a), Some(b), None, _]) => {
                self.joined.push([a, b]);
                let straight = visible().map(|blade| blade.at).find(|&at| at != a && at != b);
                self.below.extend(straight.map(|straight| [straight, a]));
            }
            (3, [Some(a), Some(b), Some(c), None]) => {
                let is_lower = |at: &u32| !sheets.sheets[*at as usize].beside_constant;
                if let Some(lower) = [a, b, c].into_iter().find(is_lower) {
                    let [first, second] = match lower {
                        at if at == a => [b, c],
                        at if at == b => [a, c],
                        _ => [a, b],
                    };
                    self.joined.push([first, second]);
                    self.below.push([lower, first]);
                }
            }
            (2, [Some(a), Some(b), None, _]) => self.joined.push([a, b]),
            _ => {}
        }
    }

    /// Adds what holds at other ridges.
    pub fn append(&mut self, other: RidgeTally) {
        self.ridges += other.ridges;
        self.imbalance = self.imbalance.max(other.imbalance);
        self.bending += other.bending;
        self.dishonest += other.dishonest;
        self.joined.extend(other.joined);
        self.below.extend(other.below);
    }

    /// For every facet the layer that the function tells; `None` for invisible ones, and for all with one input.
    pub fn recover(&self, sheets: &Sheets) -> Vec<Option<usize>> {
        let [d, _] = sheets.shape;
        if d < 2 {
            return vec![None; sheets.sheets.len()];
        }
        let mut surfaces = Surfaces::new(sheets.sheets.len());
        self.joined.iter().for_each(|&[a, b]| surfaces.join(a, b));
        let levels = surfaces.levels(&self.below);
        let tell = |(sheet, level): (&Sheet, usize)| sheet.visible.then_some(level);
        sheets.sheets.iter().zip(levels).map(tell).collect()
    }
}

/// The error of the balance at a ridge, relative to the weights around it.
fn imbalance(sheets: &Sheets, blades: &[Blade], inward: &[f64]) -> f64 {
    let [d, outputs] = sheets.shape;
    let sizes = blades.iter().map(|b| sheets.sheets[b.at as usize].size);
    let size = sizes.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut worst = 0.0f64;
    for o in 0..outputs {
        for i in 0..d {
            let terms = blades.iter().zip(inward.chunks_exact(d)).map(|(b, n)| sheets.weight(b.at)[o] * n[i]);
            worst = worst.max(terms.sum::<f64>().abs());
        }
    }
    worst / size
}

/// The visible facets at a ridge that no visible one continues in their hyperplanes.
fn bent(sheets: &Sheets, blades: &[Blade]) -> impl Iterator<Item = u32> {
    let continued = |b: &&Blade| b.opposite.is_some_and(|other| sheets.is_visible(other));
    blades.iter().filter(|b| sheets.is_visible(b.at)).filter(move |b| !continued(b)).map(|b| b.at)
}

/// Adds the unit vector in a facet with the normal `own` that is normal to its ridge with a facet with the normal
/// `other`: along `other`, or against it.
pub(crate) fn point_along(own: &[f64], other: &[f64], forwards: bool, inward: &mut Vec<f64>) {
    let along = dot(own, other);
    let first = inward.len();
    inward.extend(other.iter().zip(own).map(|(b, a)| b - along * a));
    let length = norm(&inward[first..]).max(f64::MIN_POSITIVE);
    let scale = if forwards { length.recip() } else { -length.recip() };
    inward[first..].iter_mut().for_each(|x| *x *= scale);
}
