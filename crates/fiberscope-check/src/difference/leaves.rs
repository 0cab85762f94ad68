//! The leaves of a tree of boxes, on one thread or on several.
//!
//! Leaves do not depend on each other, so they are bounded in batches, each on whatever thread is free. What is said does not
//! depend on the threads: a batch is refused for its first leaf that fails, in the certificate's order, and all leaves before
//! that one are bounded in any case.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fiberscope_core::decimal::shortest;
use fiberscope_core::{ExactNetwork, Rational, RowMultipliers};

use super::exact::ExactBounder;
use super::{Bounder, Pair, Ran, Sign};
use crate::{End, SharedStop, Stop, go_on, refuse, short_number};

/// The leaves of a batch for each thread, if there are several, and the numbers that their boxes may have together.
const BATCH: usize = 64;
const NUMBERS: usize = 1 << 20;

/// How the boxes of a tree are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// In doubles, with an error beside every form.
    #[default]
    Doubles,
    /// In exact numbers of about 200 bits, which takes a thousand times as long. Doubles only propose the
    /// slopes.
    Exact,
}

/// A part of the domain that has to hold, and its place in the tree.
pub struct Leaf {
    pub node: u64,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub signs: Vec<Sign>,
    pub rows: Vec<RowMultipliers>,
}

impl Leaf {
    fn numbers(&self) -> usize {
        let multipliers = self.rows.iter().map(|row| row.parts.len());
        self.lo.len() + self.hi.len() + self.signs.len() + multipliers.sum::<usize>()
    }
}

/// Leaves that wait, and what bounds them: a workspace for each thread.
pub struct Leaves<'a> {
    networks: &'a [ExactNetwork; 2],
    pair: &'a Pair,
    arithmetic: Arithmetic,
    stated: Stated,
    threads: NonZeroUsize,
    spaces: Vec<Space<'a>>,
    waiting: Vec<Leaf>,
    numbers: usize,
}

impl<'a> Leaves<'a> {
    pub fn new(
        networks: &'a [ExactNetwork; 2],
        pair: &'a Pair,
        bounds: &[Rational],
        (arithmetic, threads): (Arithmetic, NonZeroUsize),
    ) -> Self {
        Leaves {
            networks,
            pair,
            arithmetic,
            stated: Stated { bounds: bounds.to_vec(), doubles: bounds.iter().map(round_down).collect() },
            threads,
            spaces: Vec::new(),
            waiting: Vec::new(),
            numbers: 0,
        }
    }

    /// Takes a leaf; as soon as there are enough for all threads, they are bounded. An error names the node that it is about.
    pub fn take(&mut self, leaf: Leaf, stop: SharedStop) -> Result<(), (u64, End)> {
        self.numbers += leaf.numbers();
        self.waiting.push(leaf);
        let enough = match self.threads.get() {
            1 => 1,
            threads => threads.saturating_mul(BATCH),
        };
        if self.waiting.len() < enough && self.numbers < NUMBERS {
            return Ok(());
        }
        self.bound_all(stop)
    }

    /// Bounds all leaves that wait.
    pub fn bound_all(&mut self, stop: SharedStop) -> Result<(), (u64, End)> {
        let leaves = std::mem::take(&mut self.waiting);
        self.numbers = 0;
        let wanted = self.threads.get().min(leaves.len());
        while self.spaces.len() < wanted {
            self.spaces.push(Space::new(self.networks, self.pair, self.arithmetic));
        }
        let batch = Batch {
            leaves: &leaves,
            stated: &self.stated,
            next: AtomicUsize::new(0),
            first: AtomicUsize::new(leaves.len()),
            ended: Mutex::new(None),
            stop,
        };
        match &mut self.spaces[..wanted] {
            [] => {}
            [space, others @ ..] => thread::scope(|scope| {
                for space in others {
                    // A thread that the system does not give is one less.
                    let _ = thread::Builder::new().spawn_scoped(scope, || batch.work(space));
                }
                batch.work(space);
            }),
        }
        batch.ended()
    }
}

/// Leaves that threads take one after the other.
struct Batch<'b> {
    leaves: &'b [Leaf],
    stated: &'b Stated,
    next: AtomicUsize,
    /// No leaf from here on matters any more.
    first: AtomicUsize,
    /// How the leaf there ended.
    ended: Mutex<Option<(usize, End)>>,
    stop: SharedStop<'b>,
}

impl Batch<'_> {
    /// Leaves are taken in their order, so that all before one that fails are bounded, by somebody.
    fn work(&self, space: &mut Space) {
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            if place >= self.first.load(Ordering::Relaxed) {
                return;
            }
            let leaf = &self.leaves[place];
            // The walk has asked before it came to the only leaf of a batch.
            let asked = if self.leaves.len() > 1 { go_on(self.stop) } else { Ok(()) };
            if let Err(end) = asked.and_then(|()| space.hold(leaf, self.stated, self.stop)) {
                self.end(place, end);
            }
        }
    }

    fn end(&self, place: usize, end: End) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.as_ref().is_none_or(|(first, _)| place < *first) {
            self.first.fetch_min(place, Ordering::Relaxed);
            *ended = Some((place, end));
        }
    }

    fn ended(self) -> Result<(), (u64, End)> {
        match self.ended.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((place, end)) => Err((self.leaves[place].node, end)),
            None => Ok(()),
        }
    }
}

/// What a certificate states.
struct Stated {
    bounds: Vec<Rational>,
    /// The largest doubles that are at most the bounds: a double is at most a bound if and only if it is at
    /// most this one.
    doubles: Vec<f64>,
}

/// The workspace of a thread.
struct Space<'a> {
    bounder: Bounder<'a>,
    exact: Option<ExactBounder>,
}

impl<'a> Space<'a> {
    fn new(networks: &[ExactNetwork; 2], pair: &'a Pair, arithmetic: Arithmetic) -> Self {
        let exact = match arithmetic {
            Arithmetic::Doubles => None,
            Arithmetic::Exact => Some(ExactBounder::new(networks)),
        };
        Space { bounder: Bounder::new(pair), exact }
    }

    /// A leaf holds by the bounds of its part, or by those of a closer look (lemma E6).
    fn hold(&mut self, leaf: &Leaf, stated: &Stated, stop: Stop) -> Result<(), End> {
        let ran = self.bounder.run_where(&leaf.lo, &leaf.hi, &leaf.signs);
        if ran == Ran::Beyond {
            return refuse(step(leaf.node), "the bounds on this box are beyond the doubles");
        }
        let plain = self.bounded(ran, leaf, stated, stop);
        if !matches!(plain, Err(End::Refused(_))) {
            return plain;
        }
        match self.bounder.run_closely(&leaf.lo, &leaf.hi, &leaf.signs) {
            Ran::Beyond => plain,
            ran => self.bounded(ran, leaf, stated, stop),
        }
    }

    fn bounded(&mut self, ran: Ran, leaf: &Leaf, stated: &Stated, stop: Stop) -> Result<(), End> {
        match (self.exact.is_some(), ran) {
            (true, _) => self.exactly(leaf, stated, stop),
            (false, Ran::Empty) => Ok(()),
            (false, _) => self.in_doubles(leaf, stated),
        }
    }

    fn in_doubles(&mut self, leaf: &Leaf, stated: &Stated) -> Result<(), End> {
        for (k, &most) in stated.doubles.iter().enumerate() {
            let (lower, upper) = self.bounder.output_bounds();
            for (sign, form) in [(1, upper[k]), (-1, -lower[k])] {
                if form <= most {
                    continue;
                }
                let weights = multipliers(&leaf.rows, k, sign);
                self.bounder.multiply(weights.into_iter().flat_map(RowMultipliers::values));
                let row = self.bounder.tighten(k, sign);
                if row <= most {
                    continue;
                }
                return stated.too_large(leaf, k, shortest(row.min(form)));
            }
        }
        Ok(())
    }

    fn exactly(&mut self, leaf: &Leaf, stated: &Stated, stop: Stop) -> Result<(), End> {
        let Some(exact) = &mut self.exact else { return Ok(()) };
        if !exact.run((&leaf.lo, &leaf.hi), &leaf.signs, &mut self.bounder, stop)? {
            return Ok(());
        }
        for (k, most) in stated.bounds.iter().enumerate() {
            for sign in [1, -1] {
                let form = exact.output_bound(k, sign);
                if form <= *most {
                    continue;
                }
                let weights = multipliers(&leaf.rows, k, sign);
                let row = exact.tighten((k, sign), (&leaf.signs, weights), &mut self.bounder, stop)?;
                if row > *most {
                    return stated.too_large(leaf, k, shortest(row.min(form).to_f64()));
                }
            }
        }
        Ok(())
    }
}

impl Stated {
    fn too_large(&self, leaf: &Leaf, output: usize, found: String) -> Result<(), End> {
        let stated = match self.bounds[output].to_f64() {
            near if near.is_finite() => shortest(near),
            _ => short_number(&self.bounds[output]),
        };
        let rule = format!(
            "output {} differs by at most {found} on this box; that must be at most the stated bound {stated}",
            output + 1
        );
        refuse(step(leaf.node), rule)
    }
}

/// The step of a check that is about this node, from 1.
pub fn step(node: u64) -> String {
    format!("tree of boxes, node {node}")
}

/// The multipliers of a row, if a leaf has any.
fn multipliers(rows: &[RowMultipliers], output: usize, sign: i8) -> Option<&RowMultipliers> {
    let row = 2 * output + usize::from(sign < 0);
    rows.binary_search_by_key(&row, RowMultipliers::row).ok().map(|place| &rows[place])
}

/// The largest double that is at most a number that is not negative.
pub(super) fn round_down(x: &Rational) -> f64 {
    let near = x.to_f64().min(f64::MAX);
    match Rational::from_f64(near) {
        Some(exact) if exact > *x => near.next_down(),
        _ => near,
    }
}
