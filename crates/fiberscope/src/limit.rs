//! When long work stops and hands over what it has: at a moment, when somebody stops it, or before it takes
//! too much memory.
//!
//! One value, [`Deadline`], travels with the work and carries all three. Loops ask [`Deadline::is_past`]; who
//! is about to take much memory asks [`Deadline::has_room`] first. Memory that no one could foresee is
//! watched from outside: somebody who sees the process grow pulls the switch ([`Stop::pull_for_memory`]).

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::clock::Instant;

/// A moment after which no new step is begun, a switch that ends the work before, and the memory that the
/// process may use. It is passed to all that may take long.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    end: Option<Instant>,
    stop: Option<Stop>,
    memory: Option<usize>,
}

/// A switch that stops work from another thread. Clones are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

/// Which limit ended the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The time was up.
    Time,
    /// The memory was used up, or would have been.
    Memory,
    /// Somebody stopped it.
    Request,
}

impl Limit {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Time => "time",
            Limit::Memory => "memory",
            Limit::Request => "request",
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Limit::Time => "the time limit was reached",
            Limit::Memory => "the memory limit was reached",
            Limit::Request => "the work was stopped",
        })
    }
}

/// A limit came before there was anything to hand over.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{limit} {when}")]
pub struct LimitReached {
    /// Which limit.
    pub limit: Limit,
    /// When that was, as the end of a sentence: "before the network was built".
    pub when: String,
}

const RUNNING: u8 = 0;
const STOPPED: u8 = 1;
const OUT_OF_MEMORY: u8 = 2;

impl Stop {
    /// Stops the work; there is no way back.
    pub fn pull(&self) {
        self.set(STOPPED);
    }

    /// Stops the work because the process takes too much memory.
    pub fn pull_for_memory(&self) {
        self.set(OUT_OF_MEMORY);
    }

    /// Whether the work was stopped.
    pub fn is_pulled(&self) -> bool {
        self.limit().is_some()
    }

    /// The first reason counts.
    fn set(&self, reason: u8) {
        let _ = self.0.compare_exchange(RUNNING, reason, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn limit(&self) -> Option<Limit> {
        match self.0.load(Ordering::Relaxed) {
            RUNNING => None,
            OUT_OF_MEMORY => Some(Limit::Memory),
            _ => Some(Limit::Request),
        }
    }
}

impl Deadline {
    /// No end.
    pub const NEVER: Deadline = Deadline { end: None, stop: None, memory: None };

    /// This much time from now on; without an end if there is no limit.
    pub fn after(limit: Option<Duration>) -> Self {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        Deadline { end, ..Deadline::NEVER }
    }

    /// The same, and over as soon as the switch is pulled.
    pub fn or(self, stop: Stop) -> Self {
        Deadline { stop: Some(stop), ..self }
    }

    /// The same, with so many bytes for the whole process.
    pub fn within(self, memory: Option<usize>) -> Self {
        Deadline { memory, ..self }
    }

    /// The same, but at most this much time from now on.
    pub fn at_most(&self, limit: Duration) -> Self {
        let sooner = Deadline::after(Some(self.left().map_or(limit, |left| left.min(limit))));
        Deadline { end: sooner.end, ..self.clone() }
    }

    /// The same without a moment: the switch and the memory stay.
    pub fn endless(&self) -> Self {
        Deadline { end: None, ..self.clone() }
    }

    /// Whether the time is up, or the work was stopped.
    pub fn is_past(&self) -> bool {
        self.limit().is_some()
    }

    /// The limit that was reached, if one was.
    pub fn limit(&self) -> Option<Limit> {
        let late = || self.end.is_some_and(|end| Instant::now() >= end);
        self.stop.as_ref().and_then(Stop::limit).or_else(|| late().then_some(Limit::Time))
    }

    /// The limit that was reached, if one was, as an error. `when` ends a sentence: "before the network was
    /// built".
    pub fn check(&self, when: &str) -> Result<(), LimitReached> {
        match self.limit() {
            Some(limit) => Err(LimitReached { limit, when: when.to_owned() }),
            None => Ok(()),
        }
    }

    /// The time that is left, zero if it is up; `None` if there is no end.
    pub fn left(&self) -> Option<Duration> {
        if self.stop.as_ref().is_some_and(Stop::is_pulled) {
            return Some(Duration::ZERO);
        }
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// The bytes that may still be taken: the limit less what the process holds, as far as the system tells;
    /// `None` without a limit.
    pub fn room(&self) -> Option<usize> {
        self.memory.map(|limit| limit.saturating_sub(resident_memory().unwrap_or(0)))
    }

    /// Whether so many bytes may be taken.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.memory.is_none() || self.room().is_some_and(|room| bytes <= room)
    }

    /// An error if so many bytes may not be taken for `what`.
    pub fn check_room(&self, what: &str, bytes: usize) -> Result<(), LimitReached> {
        match self.room() {
            Some(room) if bytes > room => {
                let megabytes = |bytes: usize| bytes >> 20;
                let when = format!(
                    "by {what}, which takes {} MB where {} MB are left",
                    megabytes(bytes),
                    megabytes(room)
                );
                Err(LimitReached { limit: Limit::Memory, when })
            }
            _ => Ok(()),
        }
    }
}

/// Who is told how far long work is; by default nobody.
pub struct Progress<'a, T>(Option<&'a (dyn Fn(T) + Sync)>);

impl<'a, T> Progress<'a, T> {
    /// Nobody.
    pub const SILENT: Self = Progress(None);

    /// Whoever stands behind a function, which may be called from several threads.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use fiberscope::limit::Progress;
    ///
    /// let last = AtomicUsize::new(0);
    /// let note = |now: usize| last.store(now, Ordering::Relaxed);
    /// Progress::to(&note).report(3);
    /// Progress::default().report(4);
    /// assert_eq!(last.into_inner(), 3);
    /// ```
    pub fn to(listener: &'a (dyn Fn(T) + Sync)) -> Self {
        Progress(Some(listener))
    }

    /// Tells how far the work is.
    pub fn report(&self, now: T) {
        if let Some(listener) = self.0 {
            listener(now);
        }
    }
}

impl<T> Clone for Progress<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Progress<'_, T> {}

impl<T> Default for Progress<'_, T> {
    fn default() -> Self {
        Progress::SILENT
    }
}

impl<T> fmt::Debug for Progress<'_, T> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(to a listener)" } else { "Progress(silent)" })
    }
}

/// The bytes of memory that the process holds; `None` where the system does not tell (it does on Linux).
pub fn resident_memory() -> Option<usize> {
    kilobytes("/proc/self/status", "VmRSS:").map(|size| size << 10)
}

/// The bytes of memory of the machine, or of the container if that is less; `None` where the system does not
/// tell.
pub fn machine_memory() -> Option<usize> {
    let machine = kilobytes("/proc/meminfo", "MemTotal:")? << 10;
    let contained = |path: &str| read(path)?.trim().parse::<usize>().ok();
    let container = contained("/sys/fs/cgroup/memory.max")
        .or_else(|| contained("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    Some(container.map_or(machine, |container| container.min(machine)))
}

/// The number behind a word at the start of a line.
fn kilobytes(path: &str, word: &str) -> Option<usize> {
    let text = read(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn read(_: &str) -> Option<String> {
    None
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

    #[test]
    fn the_limit_that_came_first_is_named() {
        let stop = Stop::default();
        let deadline = Deadline::after(Some(HOUR)).or(stop.clone());
        assert!(deadline.check("at once").is_ok());
        stop.pull_for_memory();
        stop.pull();
        assert_eq!(deadline.limit(), Some(Limit::Memory));
        let late = Deadline::after(Some(Duration::ZERO)).check("at once").unwrap_err();
        assert_eq!(late.to_string(), "the time limit was reached at once");
    }

    #[test]
    fn room_is_what_the_limit_leaves() {
        assert!(Deadline::NEVER.has_room(usize::MAX));
        let little = Deadline::NEVER.within(Some(1 << 40));
        assert!(little.has_room(1 << 30) && !little.has_room(1 << 41));
        assert!(
            little.at_most(HOUR).check_room("a table", 1 << 41).unwrap_err().to_string().contains("a table")
        );
        if cfg!(target_os = "linux") {
            let held = resident_memory().unwrap();
            assert!(held > 1 << 16 && machine_memory().unwrap() > held);
            assert!(!Deadline::NEVER.within(Some(1)).has_room(1));
        }
    }
}
