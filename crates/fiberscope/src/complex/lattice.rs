//! All cells of all dimensions, for any network, in exact arithmetic.
//!
//! The complex is kept with its face relation: every `k`-cell lists its facets. A neuron that is affine on
//! all cells has a sign at every vertex; a cell is positive, negative or zero if its vertices have no other
//! signs, and is cut otherwise. The cut of a `k`-cell `C` by the hyperplane `H` is a new `(k-1)`-cell whose
//! facets are the cuts of the facets of `C` and the `(k-2)`-faces of `C` inside `H` (each of them is a facet
//! of one positive facet of `C`) [edelsbrunner1987algorithms, Chapter 7]. No position is special: coincident
//! hyperplanes, common points and neurons that vanish on a region need no case of their own.
//!
//! Vertices have rational coordinates. Signs are decided in doubles where the value exceeds its rounding,
//! else exactly.

use fiberscope_core::{Activation, ExactEvaluator, Layer, Network, Rational, Sign};

use super::ComplexError;
use super::count::{CellCounts, SideKind, Tally};
use super::flat::FlatNetwork;
use super::frame::Frame;

/// A cell under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatticeCell {
    /// Cells of one dimension less.
    pub facets: Vec<u32>,
    /// The signs of the neurons so far.
    pub signs: Vec<Sign>,
    /// The sides of the box that contain the cell.
    pub sides: u64,
}

/// All cells, by dimension, and the vertices' coordinates.
pub(crate) struct Lattice {
    pub cells: Vec<Vec<LatticeCell>>,
    pub points: Vec<Vec<Rational>>,
}

/// What a neuron does to a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Negative,
    Zero,
    Positive,
    /// The negative part keeps the cell's number; these are the positive part and the cut.
    Cut(u32, u32),
}

impl Class {
    fn of(sign: Sign) -> Self {
        match sign {
            Sign::Negative => Class::Negative,
            Sign::Zero => Class::Zero,
            Sign::Positive => Class::Positive,
        }
    }

    fn sign(self) -> Sign {
        match self {
            Class::Negative | Class::Cut(..) => Sign::Negative,
            Class::Zero => Sign::Zero,
            Class::Positive => Sign::Positive,
        }
    }
}

impl Lattice {
    /// The complex on a box, or `None` if it has more regions than allowed or `go_on` says to stop.
    pub fn new(
        network: &Network,
        flat: &FlatNetwork,
        sides: &[[f64; 2]],
        most: usize,
        go_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Option<Self> {
        let mut lattice = Lattice::of_box(sides);
        for (l, layer) in flat.layers.iter().enumerate().filter(|(_, layer)| layer.relu) {
            let mut values = Values::new(network, flat, l);
            for unit in 0..layer.width {
                lattice.cut(&mut values, unit);
                let regions = lattice.cells[sides.len()].len();
                if regions > most || !go_on(regions) {
                    return None;
                }
            }
        }
        Some(lattice)
    }

    /// The complex on the box of a frame; one that stands for the space is widened until it does. `None` if
    /// `go_on` says to stop.
    pub fn of_frame(
        frame: &mut Frame,
        go_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Option<Self>, ComplexError> {
        loop {
            let found = Lattice::new(&frame.network, &frame.flat, &frame.sides, usize::MAX, go_on);
            match found.as_ref().and_then(|lattice| lattice.outside(frame)) {
                Some(reach) => frame.widen_beyond(reach)?,
                None => return Ok(found),
            }
        }
    }

    /// The faces of the box: for each input at the lower end, at the upper end, or between.
    fn of_box(sides: &[[f64; 2]]) -> Self {
        let d = sides.len();
        let mut cells = vec![Vec::new(); d + 1];
        let mut points = Vec::new();
        let mut number = vec![0u32; 3usize.pow(d as u32)];
        let digit = |face: usize, i: usize| face / 3usize.pow(i as u32) % 3;
        let mut faces: Vec<usize> = (0..number.len()).collect();
        let dimension = |face: usize| (0..d).filter(|&i| digit(face, i) == 2).count();
        faces.sort_by_key(|&face| dimension(face));
        for face in faces {
            let free: Vec<usize> = (0..d).filter(|&i| digit(face, i) == 2).collect();
            let facet = |&i: &usize| [2, 1].map(|less| number[face - less * 3usize.pow(i as u32)]);
            let facets = free.iter().flat_map(facet).collect();
            let fixed = (0..d).filter(|&i| digit(face, i) < 2);
            let cell = LatticeCell {
                facets,
                signs: Vec::new(),
                sides: fixed.map(|i| 1u64 << (2 * i + digit(face, i))).sum(),
            };
            if free.is_empty() {
                let end = |i: usize| Rational::from_f64(sides[i][digit(face, i)]).expect("sides are finite");
                points.push((0..d).map(end).collect());
            }
            number[face] = cells[free.len()].len() as u32;
            cells[free.len()].push(cell);
        }
        Lattice { cells, points }
    }

    /// Cuts all cells by a neuron of the current layer.
    fn cut(&mut self, values: &mut Values, unit: usize) {
        let d = self.cells.len() - 1;
        let mut classes: Vec<Vec<Class>> = Vec::with_capacity(d + 1);
        classes.push((0..self.points.len()).map(|v| Class::of(values.sign(&self.points, v, unit))).collect());
        for (cell, class) in self.cells[0].iter_mut().zip(&classes[0]) {
            cell.signs.push(class.sign());
        }
        for k in 1..=d {
            let class = (0..self.cells[k].len())
                .map(|c| {
                    let has = |wanted: Class| {
                        let is = |&f: &u32| {
                            let class = classes[k - 1][f as usize];
                            class == wanted || matches!(class, Class::Cut(..))
                        };
                        self.cells[k][c].facets.iter().any(is)
                    };
                    match (has(Class::Negative), has(Class::Positive)) {
                        (true, true) => self.split(values, unit, k, c, &classes),
                        (true, false) => Class::Negative,
                        (false, true) => Class::Positive,
                        (false, false) => Class::Zero,
                    }
                })
                .collect();
            classes.push(class);
            let old = classes[k].len();
            for (cell, class) in self.cells[k][..old].iter_mut().zip(&classes[k]) {
                cell.signs.push(class.sign());
            }
        }
    }

    /// Splits a cell that is cut.
    fn split(
        &mut self,
        values: &mut Values,
        unit: usize,
        k: usize,
        c: usize,
        classes: &[Vec<Class>],
    ) -> Class {
        let cell = self.cells[k][c].clone();
        let middle = self.cells[k - 1].len() as u32;
        let positive = self.cells[k].len() as u32;
        let [mut above, mut below, mut between] = [const { Vec::new() }; 3];
        for &f in &cell.facets {
            match classes[k - 1][f as usize] {
                Class::Negative => below.push(f),
                Class::Positive => {
                    above.push(f);
                    if k >= 2 {
                        let zero = |&&g: &&u32| classes[k - 2].get(g as usize) == Some(&Class::Zero);
                        between.extend(self.cells[k - 1][f as usize].facets.iter().filter(zero));
                    }
                }
                Class::Cut(p, m) => {
                    below.push(f);
                    above.push(p);
                    between.push(m);
                }
                Class::Zero => unreachable!("a cell that is cut has no facet inside the hyperplane"),
            }
        }
        if k == 1 {
            let x = values.meeting(&self.points, below[0] as usize, above[0] as usize, unit);
            self.points.push(x);
        }
        below.push(middle);
        above.push(middle);
        let with = |facets: Vec<u32>, sign: Option<Sign>| LatticeCell {
            facets,
            signs: cell.signs.iter().copied().chain(sign).collect(),
            sides: cell.sides,
        };
        self.cells[k - 1].push(with(between, Some(Sign::Zero)));
        self.cells[k].push(with(above, Some(Sign::Positive)));
        self.cells[k][c].facets = below;
        Class::Cut(positive, middle)
    }
}

impl Lattice {
    /// The numbers of cells; a box that stands for the space has no cells on its sides.
    pub fn counts(&self, frame: &Frame) -> CellCounts {
        let touching = self.touching();
        let d = frame.dimension();
        let mut tally = Tally::new(d);
        for (k, cells) in self.cells.iter().enumerate() {
            for (cell, &touches) in cells.iter().zip(&touching[k]) {
                let counted = !frame.whole || cell.sides == 0;
                tally.all[k] += i64::from(counted);
                tally.bounded[k] += i64::from(counted && !(frame.whole && touches));
            }
        }
        tally.counts(frame.extra)
    }

    /// For every cell whether it touches a side of the box.
    pub fn touching(&self) -> Vec<Vec<bool>> {
        let mut touching: Vec<Vec<bool>> = Vec::with_capacity(self.cells.len());
        touching.push(self.cells[0].iter().map(|cell| cell.sides != 0).collect());
        for (k, cells) in self.cells.iter().enumerate().skip(1) {
            let below = &touching[k - 1];
            touching.push(cells.iter().map(|cell| cell.facets.iter().any(|&f| below[f as usize])).collect());
        }
        touching
    }

    /// The cells of a tile, signed as in [`super::count`]: a cell on `j` cuts is what they leave of a cell with `j`
    /// dimensions more and counts `(-1)^j` there, in the one tile that owns it. `None` if a cut is not in general
    /// position.
    ///
    /// It is iff every vertex `v` on a cut `H` is where `H` crosses an edge: there is an edge at `v` that
    /// leaves `H`, lies on all other sides of the tile through `v` and has the signs of `v`. If there is none, `v` is a vertex of the
    /// complex without `H`, cut or not by other sides. Every cell inside `H` has such a vertex, for the tile is bounded.
    pub fn tally(&self, kinds: &[[SideKind; 2]], whole: bool) -> Option<Tally> {
        let mask = |wanted: &[SideKind]| -> u64 {
            let sides = kinds.iter().flatten().enumerate();
            sides.filter(|(_, kind)| wanted.contains(kind)).map(|(side, _)| 1u64 << side).sum()
        };
        let [shared, neighbour, infinity] =
            [SideKind::Shared, SideKind::Neighbour, SideKind::Infinity].map(|kind| mask(&[kind]));
        if !self.crosses(shared | neighbour | infinity) {
            return None;
        }
        let mut tally = Tally::new(kinds.len());
        let add = |counts: &mut [i64], k: usize, cuts: u32| {
            if let Some(count) = counts.get_mut(k + cuts as usize) {
                *count += if cuts.is_multiple_of(2) { 1 } else { -1 };
            }
        };
        for (k, cells) in self.cells.iter().enumerate() {
            for sides in cells.iter().map(|cell| cell.sides).filter(|sides| sides & neighbour == 0) {
                if sides & infinity == 0 {
                    add(&mut tally.all, k, (sides & shared).count_ones());
                }
                add(&mut tally.bounded, k, (sides & (shared | infinity)).count_ones());
            }
        }
        if !whole {
            tally.bounded.clone_from(&tally.all);
        }
        Some(tally)
    }

    /// Whether every vertex on one of these sides is where the side crosses an edge.
    fn crosses(&self, cuts: u64) -> bool {
        let mut crossed = vec![0u64; self.cells[0].len()];
        for edge in &self.cells[1] {
            for &v in &edge.facets {
                let vertex = &self.cells[0][v as usize];
                let left = vertex.sides & !edge.sides;
                if left.is_power_of_two() && vertex.signs == edge.signs {
                    crossed[v as usize] |= left;
                }
            }
        }
        self.cells[0].iter().zip(&crossed).all(|(vertex, crossed)| vertex.sides & cuts & !crossed == 0)
    }

    /// How far the box should reach, if it stands for the space and some edge that leaves it ends outside.
    pub fn outside(&self, frame: &Frame) -> Option<f64> {
        self.leaving(frame, u64::MAX)
    }

    /// The same for a tile: `ends` are the sides behind which the space goes on.
    pub fn leaving(&self, frame: &Frame, ends: u64) -> Option<f64> {
        let mut needed: Option<f64> = None;
        if !frame.whole {
            return None;
        }
        for edge in self.cells[1].iter().filter(|edge| edge.sides == 0) {
            for (v, w) in [(edge.facets[0], edge.facets[1]), (edge.facets[1], edge.facets[0])] {
                if self.cells[0][v as usize].sides & ends != 0 {
                    let (x, y) = (&self.points[v as usize], &self.points[w as usize]);
                    needed = needed.into_iter().chain(crossing(frame, x, y)).reduce(f64::max);
                }
            }
        }
        needed
    }
}

/// Where the line from `y` through `x` is cut next, in the largest coordinate.
fn crossing(frame: &Frame, x: &[Rational], y: &[Rational]) -> Option<f64> {
    let (at_x, at_y) = (frame.arbiter.values(&frame.flat, x), frame.arbiter.values(&frame.flat, y));
    let steps = at_x.iter().zip(&at_y).filter_map(|(p, q)| {
        let growth = if p.is_negative() { q - p } else { p - q };
        (growth.is_negative() && !p.is_zero()).then(|| (&p.abs() / &growth.abs()).to_f64().min(f64::MAX))
    });
    let step = steps.min_by(f64::total_cmp)?;
    let far = |(x, y): (&Rational, &Rational)| (x.to_f64() + step * (x - y).to_f64()).abs();
    Some(x.iter().zip(y).map(far).fold(0.0, f64::max).min(1e300))
}

/// The pre-activations of one layer at the vertices, on demand.
struct Values<'a> {
    flat: &'a FlatNetwork,
    layer: usize,
    evaluator: ExactEvaluator,
    floats: Vec<Option<(Vec<f64>, f64)>>,
    exact: Vec<Option<Vec<Rational>>>,
}

impl<'a> Values<'a> {
    fn new(network: &Network, flat: &'a FlatNetwork, layer: usize) -> Self {
        Values {
            flat,
            layer,
            evaluator: ExactEvaluator::new(&truncated(network, layer)),
            floats: Vec::new(),
            exact: Vec::new(),
        }
    }

    fn sign(&mut self, points: &[Vec<Rational>], v: usize, unit: usize) -> Sign {
        self.floats.resize(points.len(), None);
        let (flat, layer) = (self.flat, self.layer);
        let (z, error) = self.floats[v].get_or_insert_with(|| floats(flat, layer, &points[v]));
        let value = z[unit];
        if value > *error {
            Sign::Positive
        } else if value < -*error {
            Sign::Negative
        } else {
            match self.exact(points, v)[unit].signum() {
                1 => Sign::Positive,
                0 => Sign::Zero,
                _ => Sign::Negative,
            }
        }
    }

    fn exact(&mut self, points: &[Vec<Rational>], v: usize) -> &[Rational] {
        self.exact.resize(points.len(), None);
        let evaluator = &self.evaluator;
        self.exact[v].get_or_insert_with(|| {
            evaluator.evaluate(&points[v]).expect("the point has a coordinate per input")
        })
    }

    /// The point between two vertices where a neuron is zero.
    fn meeting(&mut self, points: &[Vec<Rational>], a: usize, b: usize, unit: usize) -> Vec<Rational> {
        let za = self.exact(points, a)[unit].clone();
        let zb = self.exact(points, b)[unit].clone();
        let t = &za / &(&za - &zb);
        points[a].iter().zip(&points[b]).map(|(x, y)| x + &(&t * &(y - x))).collect()
    }
}

/// The network up to the pre-activations of a hidden layer.
pub(crate) fn truncated(network: &Network, layer: usize) -> Network {
    let mut layers = network.layers()[..=layer].to_vec();
    let (weight, bias, _) = layers.pop().expect("there is a layer").into_parts();
    layers.push(Layer::new(weight, bias, Activation::Identity));
    Network::new(layers).expect("the first layers of a network are a network")
}

/// Pre-activations of a layer in doubles and a bound on their errors.
fn floats(flat: &FlatNetwork, layer: usize, x: &[Rational]) -> (Vec<f64>, f64) {
    let mut a: Vec<f64> = x.iter().map(Rational::to_f64).collect();
    let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (l, flat_layer) in flat.layers[..=layer].iter().enumerate() {
        let mut z = Vec::new();
        flat_layer.forward(&a, &mut z);
        if l < layer && flat_layer.relu {
            z.iter_mut().for_each(|z| *z = z.max(0.0));
        }
        a = z;
    }
    let layer = &flat.layers[layer];
    let rounding = layer.lipschitz * (size * f64::EPSILON + f64::MIN_POSITIVE);
    (a, (layer.error[0] + layer.error[1] * size + rounding) * (1.0 + 1e-9))
}
