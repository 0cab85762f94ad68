//! Long work on threads of its own, without the interpreter's lock: progress goes to a Python function, Ctrl-C stops it.
//!
//! The calling thread waits and looks at signals a few times a second. When one raises an exception, that exception is passed on at once, and the
//! work is told to stop: the next time it reports progress it unwinds to the top of its thread. Work between two reports goes on until the next
//! one, unseen; its result is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fiberscope::limit::Deadline;
use pyo3::prelude::*;

use crate::error::{named, raise};

/// How often signals and progress are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How work is to be done.
#[derive(FromPyObject)]
pub struct Terms {
    seed: u64,
    threads: Option<usize>,
    time_limit: Option<f64>,
    progress: Option<Py<PyAny>>,
}

/// What the work sees of the outside.
pub struct Watch {
    /// The seed.
    pub seed: u64,
    /// The longest time.
    pub time: Option<Duration>,
    begun: Instant,
    stop: Arc<AtomicBool>,
    latest: Arc<Mutex<Option<String>>>,
}

/// What is thrown to leave work that nobody waits for.
struct Stopped;

impl Watch {
    /// Says how far the work is, and leaves it if nobody waits for it any more.
    pub fn say(&self, text: &str) {
        self.heed();
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
    }

    /// Leaves the work if nobody waits for it any more.
    pub fn heed(&self) {
        if self.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// When the time is up.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.time.map(|time| time.saturating_sub(self.begun.elapsed())))
    }

    /// The same as a moment.
    pub fn end(&self) -> Option<Instant> {
        self.time.and_then(|time| self.begun.checked_add(time))
    }
}

/// Does the work on a pool of threads and waits for it.
pub fn work<T: Send + 'static>(
    py: Python,
    terms: &Terms,
    task: impl FnOnce(&Watch) -> anyhow::Result<T> + Send + 'static,
) -> PyResult<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(terms.threads.unwrap_or(0))
        .build()
        .map_err(|error| raise(py, &error.into()))?;
    let (stop, latest) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    let watch = Watch {
        seed: terms.seed,
        time: terms.time_limit.map(Duration::from_secs_f64),
        begun: Instant::now(),
        stop: Arc::clone(&stop),
        latest: Arc::clone(&latest),
    };
    let (sender, receiver) = channel();
    pool.spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| task(&watch)));
        // Nobody receives what was interrupted.
        let _ = sender.send(done);
    });
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
    loop {
        match py.detach(wait) {
            Ok(Ok(done)) => return done.map_err(|error| raise(py, &error)),
            Ok(Err(payload)) => return Err(panicked(py, &*payload)),
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(py, &"the work was lost")),
            Err(RecvTimeoutError::Timeout) => {
                let text = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                let said = match (text, &terms.progress) {
                    (Some(text), Some(progress)) => progress.call1(py, (text,)).map(drop),
                    _ => Ok(()),
                };
                if let Err(exception) = said.and_then(|()| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    return Err(exception);
                }
            }
        }
    }
}

fn panicked(py: Python, payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    named(py, "InternalError", &format!("a fault of fiberscope, please report it: {text}"))
}
