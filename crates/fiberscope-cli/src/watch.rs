//! A thread that looks after the limits from outside.
//!
//! Commands stop by themselves when their [`Deadline`](fiberscope::limit::Deadline) is past and say what they
//! found. Two things they cannot do alone: see that the process grows beyond its memory, where this thread
//! pulls their switch; and end a step that nobody thought would take long. After a grace this thread then
//! says what is known and ends the process with code 3. It never speaks while the command is printing its
//! result, or after that, and no half-written file stays behind.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fiberscope::limit::{Limit, Stop, resident_memory};
use fiberscope_io::hold_writes;

use crate::Answer;
use crate::output::Output;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command may take to hand over what it has when a limit is reached.
const GRACE: Duration = Duration::from_secs(2);

/// The exit code of a process that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// What is watched.
pub struct Limits {
    /// When the time is up.
    pub end: Option<Instant>,
    /// The bytes that the process may hold.
    pub memory: Option<usize>,
    /// The switch of the command.
    pub stop: Stop,
}

/// Lets Ctrl-C do what a limit does: the command hands over what it has, and after a grace the process ends.
/// The second Ctrl-C ends it at once.
pub fn heed_interrupts(stop: Stop, output: Output) {
    let again = AtomicBool::new(false);
    let interrupted = move || {
        if again.swap(true, Ordering::Relaxed) {
            hold_writes().remove();
            process::exit(INTERRUPTED);
        }
        stop.pull();
        let output = output.clone();
        thread::spawn(move || {
            thread::sleep(GRACE);
            give_up(Limit::Request, &output);
        });
    };
    // Without a handler Ctrl-C ends the process, as it does everywhere.
    let _ = ctrlc::set_handler(interrupted);
}

/// The thread; it ends when this is dropped.
pub struct Watch {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    /// Begins to watch, if there is anything to watch.
    pub fn start(limits: Limits, output: Output) -> Self {
        if limits.end.is_none() && limits.memory.is_none() {
            return Watch { thread: None };
        }
        let (ended, end) = channel();
        let watch = move || watch(&limits, &output, &end);
        // Without the thread the command still looks at its deadline.
        let thread = thread::Builder::new().name("limits".into()).spawn(watch).ok();
        Watch { thread: thread.map(|thread| (ended, thread)) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((ended, thread)) = self.thread.take() {
            drop(ended);
            let _ = thread.join();
        }
    }
}

fn watch(limits: &Limits, output: &Output, ended: &Receiver<()>) {
    let late = |now: Instant| limits.end.is_some_and(|end| now > end + GRACE);
    let mut full: Option<Instant> = None;
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let now = Instant::now();
        let held = limits.memory.and_then(|limit| Some((resident_memory()?, limit)));
        if let Some((held, limit)) = held.filter(|(held, limit)| held > limit) {
            limits.stop.pull_for_memory();
            let since = *full.get_or_insert(now);
            if now > since + GRACE || held > beyond(limit) {
                give_up(Limit::Memory, output);
            }
        }
        if late(now) {
            give_up(if full.is_some() { Limit::Memory } else { Limit::Time }, output);
        }
    }
}

/// So much memory ends the process at once: it grows faster than the command looks at its switch.
fn beyond(limit: usize) -> usize {
    limit.saturating_add(limit / 8).saturating_add(256 << 20)
}

/// Says what is known and ends the process, unless the command is printing its result.
fn give_up(limit: Limit, output: &Output) {
    let rescued = output.rescued(limit);
    // No file is begun or takes its place from here on.
    let held = hold_writes();
    if rescued || output.interrupted(limit) {
        held.remove();
        process::exit(i32::from(Answer::Undecided.exit_code()));
    }
    drop(held);
}
