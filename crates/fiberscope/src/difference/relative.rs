//! The largest difference, measured against the size of the outputs.
//!
//! The size `S` of a network on a box is the largest absolute value of an output: its largest difference from the network
//! that is zero everywhere. With `D` the largest difference of two networks, the question is for `D / S`, or whether
//! `D <= epsilon S`. Both are known by bounds only, `D <= epsilon S` holds if the upper bound of `D` is at most `epsilon` times
//! the lower one of `S`, and it does not if the lower bound of `D` exceeds `epsilon` times the upper one of `S`. As long as
//! neither is so, the bounds of both are brought closer together.

use fiberscope_core::{Domain, Network, Rational};

use super::range::constant;
use super::state::State;
use super::{
    Decision, Difference, DifferenceError, DifferenceOptions, DifferenceProgress, Ended, GAP, measure,
};
use crate::limit::{Deadline, Progress};

/// The part of the gap that the size may have at first, and by how much it is brought closer each time.
const PART: f64 = 0.25;
/// Closer than this no bounds are declared (what is declared exceeds what was found by a little).
const FINEST: f64 = 1.0 / (1 << 15) as f64;
/// The largest gap for which parts of it, multiplied, stay below the whole.
const LARGE: f64 = 2.0;

/// The largest absolute value of an output of a network on a box.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The exact value at some input.
    pub lower: Rational,
    /// No input has a larger one; `None` if no bound is known.
    pub upper: Option<Rational>,
    /// What ended the search for it.
    pub ended: Ended,
}

/// The largest difference of two networks on a box, and the size of the first one's outputs there.
#[derive(Clone, Debug)]
pub struct Relative {
    /// The largest difference; its own decision is that about the last part of the size that was asked for.
    pub difference: Difference,
    /// The size.
    pub size: Size,
}

impl Size {
    /// Bounds of the largest difference, divided by the size.
    pub fn quotient(&self, found: &Difference) -> (Option<Rational>, Option<Rational>) {
        let least = self.upper.as_ref().filter(|size| size.is_positive()).map(|size| &found.lower / size);
        let most = found.upper.as_ref().filter(|_| self.lower.is_positive()).map(|upper| upper / &self.lower);
        (least, most)
    }

    /// Whether a difference is at most `epsilon` times the size.
    pub fn decision(&self, found: &Difference, epsilon: &Rational) -> Decision {
        let beyond = self.upper.as_ref().is_some_and(|size| found.lower > epsilon * size);
        // What only a file says decides nothing.
        let upper = found.upper.as_ref().filter(|_| !found.taken_over);
        match () {
            () if upper.is_some_and(|upper| *upper <= epsilon * &self.lower) => Decision::Within,
            () if beyond => Decision::Exceeds,
            () => Decision::Undecided,
        }
    }

    /// Whether the bounds of the quotient are within a gap.
    pub fn is_within_gap(&self, found: &Difference, gap: f64) -> bool {
        let factor = Rational::from_f64(1.0 + gap);
        matches!((self.quotient(found), factor), ((Some(least), Some(most)), Some(factor)) if most <= &factor * &least)
    }
}

/// Bounds of the largest difference of two networks on a box, measured against the size of the first one's outputs there:
/// `epsilon` is a part of the size, and the gap is that of the quotient.
///
/// ```
/// # use fiberscope::difference::{Decision, DifferenceOptions, relative};
/// # use fiberscope::limit::Progress;
/// # use fiberscope::{Domain, Network};
/// let network =
///     |w: f64| Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, w]], &[0.0])]).unwrap();
/// let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
/// let options = DifferenceOptions::new().epsilon("1/3".parse().unwrap());
/// let found = relative(&network(1.0), &network(1.25), &domain, &options, Progress::SILENT).unwrap();
/// assert_eq!(found.size.lower.to_f64(), 1.0); // at x = 1
/// assert_eq!(found.size.decision(&found.difference, &"1/3".parse().unwrap()), Decision::Within);
/// ```
pub fn relative(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &DifferenceOptions,
    progress: Progress<DifferenceProgress>,
) -> Result<Relative, DifferenceError> {
    super::check(a, b, domain, options)?;
    let mut search = Sizing::new(a, domain, options, progress);
    // A quarter of the time at first, since without a difference a size is worth nothing.
    let deadline =
        options.deadline.left().map_or(options.deadline.clone(), |left| options.deadline.at_most(left / 4));
    let mut size = search.closer(&deadline)?;
    let ask = |epsilon: Option<Rational>, state: &mut Option<State>| {
        let gap = if epsilon.is_some() { options.gap } else { 0.5 * options.gap.min(LARGE) };
        let mut own = options.clone().gap(gap);
        own.epsilon = epsilon;
        own.resume = state.take();
        let found = measure(a, b, domain, &own)?;
        *state = Some(found.state.clone());
        Ok::<_, DifferenceError>(found)
    };
    let mut state = options.resume.clone();
    let Some(epsilon) = &options.epsilon else {
        let difference = ask(None, &mut state)?;
        while !size.is_within_gap(&difference, options.gap)
            && search.may_come_closer(&size, &difference, &options.deadline)
        {
            size = search.closer(&options.deadline)?;
        }
        return Ok(Relative { difference, size });
    };
    loop {
        let mut difference = ask(Some(epsilon * &size.lower), &mut state)?;
        let open = |found: &Difference| size.decision(found, epsilon) == Decision::Undecided;
        // Beyond that part of what the size is at least: is it also beyond that of what it is at most?
        if open(&difference)
            && difference.ended == Ended::Reached
            && let Some(most) = &size.upper
        {
            difference = ask(Some(epsilon * most), &mut state)?;
        }
        if !open(&difference) || !search.may_come_closer(&size, &difference, &options.deadline) {
            return Ok(Relative { difference, size });
        }
        size = search.closer(&options.deadline)?;
    }
}

/// The search for the size of a network: the one for its difference from zero, continued.
struct Sizing<'s> {
    network: &'s Network,
    zero: Network,
    domain: &'s Domain,
    options: DifferenceOptions<'s>,
    gap: f64,
}

impl<'s> Sizing<'s> {
    fn new(
        network: &'s Network,
        domain: &'s Domain,
        options: &DifferenceOptions<'s>,
        progress: Progress<'s, DifferenceProgress>,
    ) -> Self {
        let gap = if options.epsilon.is_some() { GAP } else { options.gap.min(LARGE) };
        let zero = constant(network, &vec![0.0; network.output_width()]);
        let own =
            DifferenceOptions::new().align(false).seed(options.seed).boxes(options.boxes).progress(progress);
        Sizing { network, zero, domain, options: own, gap }
    }

    /// The size, a step closer than before if the deadline allows.
    fn closer(&mut self, deadline: &Deadline) -> Result<Size, DifferenceError> {
        self.gap *= PART;
        let options = self.options.clone().gap(self.gap).deadline(deadline.clone());
        let Difference { lower, upper, ended, state, .. } =
            measure(self.network, &self.zero, self.domain, &options)?;
        self.options.resume = Some(state);
        Ok(Size { lower, upper, ended })
    }

    /// Whether there is time, and no search has come to an end that more time does not change.
    fn may_come_closer(&self, size: &Size, difference: &Difference, deadline: &Deadline) -> bool {
        let may =
            matches!(size.ended, Ended::Reached | Ended::Limit(_)) && difference.ended == Ended::Reached;
        may && !deadline.is_past() && self.gap * PART >= FINEST
    }
}
