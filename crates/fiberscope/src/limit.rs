//! When long work stops and hands over what it has: at a moment, or when somebody stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::Instant;

/// A moment after which no new step is begun, and a switch that ends the work before. It is passed to all that may take long.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    end: Option<Instant>,
    stop: Option<Stop>,
}

/// A switch that stops work from another thread. Clones are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops the work; there is no way back.
    pub fn pull(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work was stopped.
    pub fn is_pulled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Deadline {
    /// No end.
    pub const NEVER: Deadline = Deadline { end: None, stop: None };

    /// This much time from now on; without an end if there is no limit.
    pub fn after(limit: Option<Duration>) -> Self {
        Deadline { end: limit.and_then(|limit| Instant::now().checked_add(limit)), stop: None }
    }

    /// The same, and over as soon as the switch is pulled.
    pub fn or(self, stop: Stop) -> Self {
        Deadline { stop: Some(stop), ..self }
    }

    /// The same, but at most this much time from now on.
    pub fn at_most(&self, limit: Duration) -> Self {
        let sooner = Deadline::after(Some(self.left().map_or(limit, |left| left.min(limit))));
        Deadline { end: sooner.end, stop: self.stop.clone() }
    }

    /// Whether the time is up, or the work was stopped.
    pub fn is_past(&self) -> bool {
        self.is_stopped() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// The time that is left, zero if it is up; `None` if there is no end.
    pub fn left(&self) -> Option<Duration> {
        if self.is_stopped() {
            return Some(Duration::ZERO);
        }
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_pulled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_end_comes_if_there_is_one() {
        assert!(!Deadline::NEVER.is_past());
        assert_eq!(Deadline::after(None).left(), None);
        let now = Deadline::after(Some(Duration::ZERO));
        assert!(now.is_past());
        assert_eq!(now.left(), Some(Duration::ZERO));
        assert!(!Deadline::after(Some(HOUR)).is_past());
    }

    #[test]
    fn the_sooner_of_two_ends_counts() {
        assert!(Deadline::NEVER.at_most(Duration::ZERO).is_past());
        assert!(Deadline::after(Some(Duration::ZERO)).at_most(HOUR).is_past());
        assert!(Deadline::after(Some(2 * HOUR)).at_most(HOUR).left().is_some_and(|left| left <= HOUR));
    }

    #[test]
    fn a_switch_ends_all_that_has_it() {
        let stop = Stop::default();
        let deadlines = [Deadline::NEVER.or(stop.clone()), Deadline::after(Some(HOUR)).or(stop.clone())];
        let shorter = deadlines[0].at_most(HOUR);
        assert!(!deadlines.iter().chain([&shorter]).any(Deadline::is_past));
        stop.pull();
        assert!(deadlines.iter().chain([&shorter]).all(Deadline::is_past));
        assert_eq!(deadlines[0].left(), Some(Duration::ZERO));
    }
}
