//! Counting the cells, and listing them or weighing their facets where they are few.
//!
//! One subdivision gives both: the counts follow from the vertices and edges ([`super::count`]), and so do the
//! cells ([`super::listing`]). Where there are too many vertices for one piece, the domain is counted in tiles
//! ([`super::stream`]), and subdivided once more if it turns out that the cells are to be listed.

use std::sync::atomic::{AtomicU64, Ordering};

use fiberscope_core::{Domain, Network};

use super::ComplexError;
use super::breakpoints::BreakpointComplex;
use super::count::CellCounts;
use super::count_state::{CountProgress, CountState};
use super::frame::Frame;
use super::lattice::Lattice;
use super::numbers::{BreakpointNumbers, numbers_of};
use super::options::ComplexOptions;
use super::polyhedral::{Built, LISTED_DIMENSIONS, PolyhedralComplex, simple_counts, skeleton_of};
use super::skeleton::{Skeleton, Stop};
use super::stream::{CellMethod, CountOutcome, count_cells};
use super::subdivide::Room;

/// What is known of the cells of a complex.
#[must_use]
pub enum Exploration {
    /// They were few enough to be listed.
    Listed(Box<PolyhedralComplex>),
    /// They were few enough for their facets to be weighed.
    Weighed {
        /// Their numbers.
        counts: CellCounts,
        /// How they were found.
        method: CellMethod,
        /// What the weights say.
        numbers: BreakpointNumbers,
    },
    /// They were counted.
    Counted {
        /// Their numbers.
        counts: CellCounts,
        /// How they were found.
        method: CellMethod,
    },
    /// A limit was reached first.
    Stopped {
        /// The regions counted so far, roughly.
        regions: u64,
        /// The part of the domain's volume that is finished.
        explored: f64,
        /// Where a count goes on.
        state: Option<CountState>,
        /// Their numbers, if the limit came while the cells were listed or weighed.
        counts: Option<CellCounts>,
    },
}

/// The most vertices that are subdivided in one piece before it is known how many there are.
const VERTICES: usize = 1 << 19;

/// Counts the cells of the complex of a network, and lists them if there are at most `listed` regions.
///
/// ```
/// use fiberscope::complex::{ComplexOptions, Exploration, explore_cells};
/// use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0, 0.5], [-1.0, 2.0]]).unwrap(), vec![0.1, 0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let explore = |listed: u64| explore_cells(&network, &Domain::Space, listed, &ComplexOptions::new()).unwrap();
/// let Exploration::Listed(complex) = explore(4) else { panic!("there are four regions") };
/// let Exploration::Counted { counts, .. } = explore(3) else { panic!("there are more than three") };
/// assert_eq!(complex.counts(), counts);
/// ```
pub fn explore_cells(
    network: &Network,
    domain: &Domain,
    listed: u64,
    options: &ComplexOptions,
) -> Result<Exploration, ComplexError> {
    Few { most: listed, form: Form::Cells }.explore(network, domain, options)
}

/// Counts the cells of the complex of a network, and weighs the facets if there are at most `weighed` regions. Where
/// the complex is simple, this takes a fraction of the time and the memory of a list of the cells.
///
/// ```
/// use fiberscope::complex::{ComplexOptions, Exploration, explore_breakpoints};
/// use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
///
/// // The second neuron bends nothing: its output weight is zero.
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0, 0.5], [-1.0, 2.0]]).unwrap(), vec![0.1, 0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 0.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let found = explore_breakpoints(&network, &Domain::Space, 4, &ComplexOptions::new()).unwrap();
/// let Exploration::Weighed { numbers, .. } = found else { panic!("there are four regions") };
/// assert_eq!((numbers.facets, numbers.visible_facets, numbers.ridges), (4, 2, 1));
/// ```
pub fn explore_breakpoints(
    network: &Network,
    domain: &Domain,
    weighed: u64,
    options: &ComplexOptions,
) -> Result<Exploration, ComplexError> {
    Few { most: weighed, form: Form::Numbers }.explore(network, domain, options)
}

/// The same as [`explore_cells`], the cells being counted in tiles from the start: the options may have a count to go
/// on with, and somebody who keeps its state.
pub fn explore_in_tiles(
    network: &Network,
    domain: &Domain,
    listed: u64,
    options: &ComplexOptions,
) -> Result<Exploration, ComplexError> {
    Few { most: listed, form: Form::Cells }.explore_in_tiles(network, domain, options)
}

/// What is found if there are few regions.
#[derive(Clone, Copy)]
struct Few {
    most: u64,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Cells,
    Numbers,
}

impl Few {
    fn explore(
        self,
        network: &Network,
        domain: &Domain,
        options: &ComplexOptions,
    ) -> Result<Exploration, ComplexError> {
        let frame = Frame::new(network, domain)?;
        if frame.dimension() <= LISTED_DIMENSIONS
            && let Some(found) = self.in_one_piece(frame, options)?
        {
            return Ok(found);
        }
        self.explore_in_tiles(network, domain, options)
    }

    fn explore_in_tiles(
        self,
        network: &Network,
        domain: &Domain,
        options: &ComplexOptions,
    ) -> Result<Exploration, ComplexError> {
        match count_cells(network, domain, options)? {
            CountOutcome::Stopped { regions, explored, state } => {
                Ok(Exploration::Stopped { regions, explored, state, counts: None })
            }
            CountOutcome::Complete { counts, method } if counts.regions() > self.most => {
                Ok(Exploration::Counted { counts, method })
            }
            CountOutcome::Complete { counts, .. } => {
                Ok(match PolyhedralComplex::build(network, domain, options)? {
                    Built::Complete(complex) => self.of_complex(complex, options),
                    Built::Stopped { .. } => listing_stopped(counts),
                })
            }
        }
    }

    /// The exploration without tiles; `None` if there are too many vertices for that.
    fn in_one_piece(
        self,
        mut frame: Frame,
        options: &ComplexOptions,
    ) -> Result<Option<Exploration>, ComplexError> {
        let most = options.regions.unwrap_or(u64::MAX);
        let found = AtomicU64::new(0);
        let go_on = |regions: usize| {
            found.store(regions as u64, Ordering::Relaxed);
            options.progress.report(CountProgress { explored: 0.0, regions: regions as u64 });
            regions as u64 <= most && !options.deadline.is_past()
        };
        let room = Room { most: VERTICES, expected: 1.25 * VERTICES as f64 };
        let stopped =
            |regions: u64| Some(Exploration::Stopped { regions, explored: 0.0, state: None, counts: None });
        Ok(match skeleton_of(&mut frame, room, &go_on) {
            Ok(skeleton) => {
                let counts = simple_counts(&frame, &skeleton);
                match counts.regions() > self.most {
                    true => Some(Exploration::Counted { counts, method: CellMethod::Edges }),
                    false => Some(self.of_skeleton(frame, skeleton, counts, options)),
                }
            }
            Err(Stop::TooMany(..)) if found.load(Ordering::Relaxed) > most || options.deadline.is_past() => {
                stopped(found.load(Ordering::Relaxed))
            }
            Err(Stop::TooMany(..)) => None,
            Err(Stop::TooFar(error)) => return Err(error),
            Err(Stop::Irregular) => match Lattice::of_frame(&mut frame, &go_on)? {
                None => stopped(found.load(Ordering::Relaxed)),
                Some(lattice) => {
                    let counts = lattice.counts(&frame);
                    if counts.regions() > self.most {
                        return Ok(Some(Exploration::Counted { counts, method: CellMethod::Cells }));
                    }
                    let complex = Box::new(PolyhedralComplex::of_lattice(frame, &lattice));
                    Some(self.of_complex(complex, options))
                }
            },
        })
    }

    fn of_skeleton(
        self,
        frame: Frame,
        skeleton: Skeleton,
        counts: CellCounts,
        options: &ComplexOptions,
    ) -> Exploration {
        if let Form::Numbers = self.form {
            match numbers_of(&frame, &skeleton, &options.deadline) {
                Err(_) => return listing_stopped(counts),
                Ok(Some(numbers)) => {
                    return Exploration::Weighed { counts, method: CellMethod::Edges, numbers };
                }
                Ok(None) => {}
            }
        }
        match PolyhedralComplex::of_skeleton(frame, skeleton, options) {
            Built::Complete(complex) => self.of_complex(complex, options),
            Built::Stopped { .. } => listing_stopped(counts),
        }
    }

    fn of_complex(self, complex: Box<PolyhedralComplex>, options: &ComplexOptions) -> Exploration {
        let (counts, method) = (complex.counts(), complex.method());
        match self.form {
            Form::Cells => Exploration::Listed(complex),
            Form::Numbers => match BreakpointComplex::new(&complex, options) {
                Ok(found) => Exploration::Weighed { counts, method, numbers: found.numbers(&complex) },
                Err(_) => listing_stopped(counts),
            },
        }
    }
}

/// All cells were counted, and a limit came before they were listed or weighed.
fn listing_stopped(counts: CellCounts) -> Exploration {
    Exploration::Stopped { regions: counts.regions(), explored: 0.0, state: None, counts: Some(counts) }
}
