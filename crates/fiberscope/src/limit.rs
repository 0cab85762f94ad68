//! The moment at which long work stops and hands over what it has.

use std::time::Duration;

use crate::clock::Instant;

/// A moment after which no new step is begun. It is passed to all that may take long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline {
    end: Option<Instant>,
}

impl Deadline {
    /// No end.
    pub const NEVER: Deadline = Deadline { end: None };

    /// This much time from now on; without an end if there is no limit.
    pub fn after(limit: Option<Duration>) -> Self {
        Deadline { end: limit.and_then(|limit| Instant::now().checked_add(limit)) }
    }

    /// Whether the time is up.
    pub fn is_past(self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// The time that is left, zero if it is up; `None` if there is no end.
    pub fn left(self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_comes_if_there_is_one() {
        assert!(!Deadline::NEVER.is_past());
        assert_eq!(Deadline::after(None).left(), None);
        let now = Deadline::after(Some(Duration::ZERO));
        assert!(now.is_past());
        assert_eq!(now.left(), Some(Duration::ZERO));
        assert!(!Deadline::after(Some(Duration::from_secs(3600))).is_past());
    }
}
