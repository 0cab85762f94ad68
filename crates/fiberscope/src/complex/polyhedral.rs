//! The complex with all its cells.

use std::ops::Range;

use fiberscope_core::{AffineMap, Domain, Matrix, Network, Neuron, Rational, Sign, SignVector};

use super::cells::Cells;
use super::count::{CellCounts, tally};
use super::frame::Frame;
use super::lattice::Lattice;
use super::levels::Levels;
use super::options::ComplexOptions;
use super::skeleton::{Skeleton, Stop};
use super::stream::CellMethod;
use super::subdivide::{Room, Wanted, subdivide};
use super::{ComplexError, CountProgress};

/// The most dimensions of a complex whose cells are listed.
pub(super) const LISTED_DIMENSIONS: usize = 12;

/// The canonical polyhedral complex of a network on a domain, all cells listed.
///
/// On `R^n` with `rank W_1 < n` the complex is a product with a linear space; listed are the cells of the
/// factor ([`PolyhedralComplex::factor_dimension`]), in the coordinates [`PolyhedralComplex::inputs`].
pub struct PolyhedralComplex {
    pub(crate) frame: Frame,
    levels: Levels,
    counts: CellCounts,
    /// For a box that stands for the space: which cells touch its sides.
    touching: Vec<Vec<bool>>,
    /// The coordinates of the vertices, one after the other.
    points: Vec<f64>,
    method: CellMethod,
}

/// What came of building a complex.
#[must_use]
pub enum Built {
    /// The complex.
    Complete(Box<PolyhedralComplex>),
    /// A limit was reached.
    Stopped {
        /// The regions so far.
        regions: u64,
    },
}

/// A cell: a set of inputs with one sign vector.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    complex: &'a PolyhedralComplex,
    dimension: usize,
    number: usize,
}

/// A full-dimensional cell.
#[derive(Clone, Copy)]
pub struct Region<'a>(Cell<'a>);

/// The set where one neuron is zero without being constant: the cells of codimension one on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BentHyperplane {
    /// The neuron; hidden layers count from 0.
    pub neuron: Neuron,
    /// The numbers of its facets.
    pub facets: Vec<usize>,
}

impl PolyhedralComplex {
    /// The complex of a network.
    ///
    /// ```
    /// use fiberscope::complex::{Built, ComplexOptions, PolyhedralComplex};
    /// use fiberscope::{Activation, Domain, Layer, Matrix, Network};
    ///
    /// // Two lines that cross: four regions around one vertex.
    /// let rows = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    /// let hidden = Layer::new(rows, vec![0.0, -1.0], Activation::Relu);
    /// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
    /// let network = Network::new(vec![hidden, output]).unwrap();
    /// let built = PolyhedralComplex::build(&network, &Domain::Space, &ComplexOptions::new()).unwrap();
    /// let Built::Complete(complex) = built else { panic!("there was no limit") };
    /// assert_eq!((complex.regions().len(), complex.counts().all), (4, vec![1, 4, 4]));
    /// ```
    pub fn build(
        network: &Network,
        domain: &Domain,
        options: &ComplexOptions,
    ) -> Result<Built, ComplexError> {
        let mut frame = Frame::new(network, domain)?;
        if frame.dimension() > LISTED_DIMENSIONS {
            return Err(ComplexError::TooManyDimensions {
                dimensions: frame.dimension(),
                most: LISTED_DIMENSIONS,
            });
        }
        let most = options.regions.unwrap_or(u64::MAX);
        let go_on = |regions: usize| {
            options.progress.report(CountProgress { explored: 0.0, regions: regions as u64 });
            regions as u64 <= most && !options.deadline.is_past()
        };
        Ok(match skeleton_of(&mut frame, Room::up_to(u32::MAX as usize / 4), &go_on) {
            Err(Stop::TooMany(..)) => Built::Stopped { regions: most.min(u64::MAX - 1) },
            Ok(skeleton) => PolyhedralComplex::of_skeleton(frame, skeleton, options),
            Err(Stop::TooFar(error)) => return Err(error),
            Err(Stop::Irregular) => match Lattice::of_frame(&mut frame, &go_on)? {
                None => Built::Stopped { regions: most },
                Some(lattice) => Built::Complete(Box::new(PolyhedralComplex::of_lattice(frame, &lattice))),
            },
        })
    }

    /// Lists the cells of a simple complex. Those that touch the box that stands for the space are told by
    /// their vertices, so that all are listed there.
    pub(super) fn of_skeleton(frame: Frame, mut skeleton: Skeleton, options: &ComplexOptions) -> Built {
        let counts = simple_counts(&frame, &skeleton);
        let points = std::mem::take(&mut skeleton.points);
        let listed = options.codimension.filter(|_| !frame.whole).unwrap_or(skeleton.dimension);
        let first = skeleton.dimension.saturating_sub(listed);
        match Levels::of_skeleton(&frame, skeleton, first, &options.deadline) {
            None => Built::Stopped { regions: counts.regions() },
            Some(levels) => {
                let complex = PolyhedralComplex::of(frame, levels, counts, points, CellMethod::Edges);
                Built::Complete(Box::new(complex))
            }
        }
    }

    /// The complex of all cells.
    pub(super) fn of_lattice(frame: Frame, lattice: &Lattice) -> Self {
        let counts = lattice.counts(&frame);
        let points = lattice.points.iter().flatten().map(Rational::to_f64).collect();
        let levels = Levels::all(Cells::of_lattice(frame.flat.neurons, &lattice.cells));
        PolyhedralComplex::of(frame, levels, counts, points, CellMethod::Cells)
    }

    fn of(frame: Frame, levels: Levels, counts: CellCounts, points: Vec<f64>, method: CellMethod) -> Self {
        let mut complex = PolyhedralComplex { frame, levels, counts, touching: Vec::new(), points, method };
        for k in (0..=complex.factor_dimension()).filter(|_| complex.frame.whole) {
            let touches = |c: usize| match k.checked_sub(1) {
                None => complex.level(k).sides(c) != 0,
                Some(below) => complex.facets(k, c).iter().any(|&f| complex.touching[below][f as usize]),
            };
            let found = (0..complex.level(k).len()).map(touches).collect();
            complex.touching.push(found);
        }
        complex
    }

    /// The cells of a dimension.
    pub(crate) fn level(&self, dimension: usize) -> &Cells {
        self.levels.cells(&self.frame, dimension)
    }

    /// The facets of a cell.
    pub(crate) fn facets(&self, dimension: usize, cell: usize) -> &[u32] {
        self.levels.facets(&self.frame, dimension, cell)
    }

    /// The dimension of the input space.
    pub fn dimension(&self) -> usize {
        self.factor_dimension() + self.frame.extra
    }

    /// The dimension of the cells that are listed: less than that of the space where nothing changes along
    /// some directions.
    pub fn factor_dimension(&self) -> usize {
        self.frame.dimension()
    }

    /// The inputs that are the coordinates of the listed cells.
    pub fn inputs(&self) -> &[usize] {
        &self.frame.kept
    }

    /// How the cells were found.
    pub fn method(&self) -> CellMethod {
        self.method
    }

    /// The cells of a dimension (of the factor). For the whole space these include the faces on a large box,
    /// for which
    /// [`Cell::is_artificial`] holds.
    pub fn cells(&self, dimension: usize) -> impl ExactSizeIterator<Item = Cell<'_>> {
        let count = if dimension <= self.factor_dimension() { self.level(dimension).len() } else { 0 };
        let range: Range<usize> = 0..count;
        range.map(move |number| Cell { complex: self, dimension, number })
    }

    /// One cell.
    ///
    /// # Panics
    ///
    /// If there are not that many cells of that dimension.
    pub fn cell(&self, dimension: usize, number: usize) -> Cell<'_> {
        assert!(number < self.level(dimension).len(), "cell {number} of dimension {dimension}");
        Cell { complex: self, dimension, number }
    }

    /// The regions.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = Region<'_>> {
        self.cells(self.factor_dimension()).map(Region)
    }

    /// The coordinates of a vertex.
    pub fn point(&self, vertex: usize) -> &[f64] {
        let d = self.factor_dimension();
        &self.points[vertex * d..(vertex + 1) * d]
    }

    /// A point of the input space with these coordinates in the factor, the other inputs zero.
    pub fn in_space(&self, point: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension()];
        for (&i, &value) in self.frame.kept.iter().zip(point) {
            x[i] = value;
        }
        x
    }

    /// The numbers of cells.
    pub fn counts(&self) -> CellCounts {
        self.counts.clone()
    }

    /// Pairs of regions with the facet between them: `(region, region, facet)`.
    pub fn adjacency(&self) -> Vec<(usize, usize, usize)> {
        let Some(facets) = self.factor_dimension().checked_sub(1).map(|k| self.level(k)) else {
            return Vec::new();
        };
        let pair = |f: usize| match *facets.cofacets(f) {
            [a, b] => Some((a as usize, b as usize, f)),
            _ => None,
        };
        (0..facets.len()).filter_map(pair).collect()
    }

    /// The bent hyperplane of every ReLU neuron.
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    pub fn bent_hyperplanes(&self) -> Vec<BentHyperplane> {
        let d = self.factor_dimension();
        let mut bent: Vec<BentHyperplane> = (0..self.frame.flat.neurons)
            .map(|h| BentHyperplane { neuron: self.neuron(h), facets: Vec::new() })
            .collect();
        for (a, b, facet) in self.adjacency() {
            let [p, q] = [a, b].map(|region| self.level(d).signs(region));
            let on = self.level(d - 1).signs(facet);
            for h in 0..self.frame.flat.neurons {
                let constant = p[h] == Sign::Zero && q[h] == Sign::Zero;
                if on[h] == Sign::Zero && !constant {
                    bent[h].facets.push(facet);
                }
            }
        }
        bent
    }

    /// The layer and unit of a ReLU neuron by its place in sign vectors.
    pub fn neuron(&self, number: usize) -> Neuron {
        self.frame.flat.neuron(number)
    }
}

/// The vertices and edges on the box of a frame; one that stands for the space is widened until it does.
pub(super) fn skeleton_of(
    frame: &mut Frame,
    room: Room,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Skeleton, Stop> {
    let d = frame.dimension();
    let vertices = |vertices: usize| go_on(vertices.saturating_sub(1 << d) / (d + 1));
    loop {
        let skeleton =
            subdivide(&frame.flat, &frame.arbiter, &frame.sides, Wanted::Skeleton, room, &vertices)?;
        let outside = frame.outside(&skeleton, &frame.arbiter, &frame.kinds);
        match outside.filter(|_| frame.whole) {
            Some(reach) => frame.widen_beyond(reach).map_err(Stop::TooFar)?,
            None => return Ok(skeleton),
        }
    }
}

/// The numbers of cells of a simple complex.
pub(super) fn simple_counts(frame: &Frame, skeleton: &Skeleton) -> CellCounts {
    tally(skeleton, frame.flat.neurons, &frame.kinds).counts(frame.extra)
}

impl<'a> Cell<'a> {
    /// The cell's number among those of its dimension.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The dimension (in the factor).
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    fn all(&self) -> &'a Cells {
        self.complex.level(self.dimension)
    }

    /// The signs of all ReLU neurons, in order.
    pub fn signs(&self) -> &'a [Sign] {
        self.all().signs(self.number)
    }

    /// The sign vector.
    pub fn sign_vector(&self) -> SignVector {
        let mut signs = self.signs();
        let mut layers = Vec::new();
        for layer in self.complex.frame.flat.layers.iter().filter(|layer| layer.relu) {
            let (own, rest) = signs.split_at(layer.width);
            layers.push(own.to_vec());
            signs = rest;
        }
        SignVector::from_layers(layers).expect("layers have neurons")
    }

    /// The numbers of its facets.
    pub fn facets(&self) -> &'a [u32] {
        self.complex.facets(self.dimension, self.number)
    }

    /// The numbers of the cells that it is a facet of.
    pub fn cofacets(&self) -> &'a [u32] {
        self.all().cofacets(self.number)
    }

    /// The numbers of its vertices, in increasing order.
    pub fn vertices(&self) -> Vec<u32> {
        self.faces(0)
    }

    /// The numbers of its faces of a dimension, in increasing order; itself, if it has that dimension.
    pub fn faces(&self, dimension: usize) -> Vec<u32> {
        let mut numbers = vec![self.number as u32];
        for k in (dimension + 1..=self.dimension).rev() {
            let facets = |&c: &u32| self.complex.facets(k, c as usize).iter().copied();
            numbers = numbers.iter().flat_map(facets).collect();
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers
    }

    /// The vertices of a two-dimensional cell in the order of its boundary.
    pub fn polygon(&self) -> Vec<u32> {
        let edge = |&e: &u32| {
            let ends = self.complex.facets(1, e as usize);
            (ends[0], ends[1])
        };
        let mut edges: Vec<(u32, u32)> =
            if self.dimension == 2 { self.facets().iter().map(edge).collect() } else { Vec::new() };
        let mut corners = Vec::with_capacity(edges.len());
        let Some((start, mut at)) = edges.pop() else { return corners };
        corners.push(start);
        while at != start {
            corners.push(at);
            let Some(next) = edges.iter().position(|&(a, b)| a == at || b == at) else { break };
            let (a, b) = edges.swap_remove(next);
            at = if a == at { b } else { a };
        }
        corners
    }

    /// Whether it is bounded.
    pub fn is_bounded(&self) -> bool {
        !self.complex.frame.whole
            || self.complex.frame.extra == 0 && !self.complex.touching[self.dimension][self.number]
    }

    /// Whether it lies on the large box that stands for the whole space, and is no cell of the complex.
    pub fn is_artificial(&self) -> bool {
        self.complex.frame.whole && self.all().sides(self.number) != 0
    }

    /// Whether it lies on a side of the box that is the domain.
    pub fn is_on_boundary(&self) -> bool {
        self.all().sides(self.number) != 0
    }
}

impl<'a> Region<'a> {
    pub(crate) fn of(cell: Cell<'a>) -> Self {
        Region(cell)
    }

    /// The region as a cell.
    pub fn cell(&self) -> Cell<'a> {
        self.0
    }

    /// The affine map of the network on the region.
    pub fn affine_map(&self) -> AffineMap {
        let complex = self.0.complex;
        complex.frame.network.affine_map(&self.0.sign_vector()).expect("the signs are of this network")
    }

    /// The mean of its vertices: a point inside.
    pub fn center(&self) -> Vec<f64> {
        let vertices = self.0.vertices();
        let d = self.0.complex.factor_dimension();
        let mean = |i: usize| {
            vertices.iter().map(|&v| self.0.complex.point(v as usize)[i]).sum::<f64>() / vertices.len() as f64
        };
        (0..d).map(mean).collect()
    }

    /// The Jacobian of the network on the region, exactly.
    pub fn jacobian_exact(&self) -> Matrix<Rational> {
        let exact = self.0.complex.frame.arbiter.network();
        let map = exact.affine_map(&self.0.sign_vector()).expect("the signs are of this network");
        map.into_parts().0
    }
}
