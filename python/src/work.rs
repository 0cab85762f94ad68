//! Long work on threads of its own, without the interpreter's lock: progress goes to a Python function,
//! Ctrl-C stops it.
//!
//! The calling thread waits and looks at signals a few times a second. When one raises an exception, that
//! exception is passed on at once, and the work is stopped as by a time limit: its [`Deadline`] is past. What
//! it still returns is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fiberscope::limit::{Deadline, Stop};
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
    /// When the time is up, or nobody waits any more.
    pub deadline: Deadline,
    stop: Stop,
    latest: Arc<Mutex<Option<String>>>,
}

impl Watch {
    /// Says how far the work is.
    pub fn say(&self, text: &str) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
    }

    /// Whether nobody waits for the work any more.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_pulled()
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
    let (stop, latest) = (Stop::default(), Arc::new(Mutex::new(None)));
    let watch = Watch {
        seed: terms.seed,
        deadline: Deadline::after(terms.time_limit.map(Duration::from_secs_f64)).or(stop.clone()),
        stop: stop.clone(),
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
                    stop.pull();
                    return Err(exception);
                }
            }
        }
    }
}

/// The exception for work that panicked.
pub fn panicked(py: Python, payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    named(py, "InternalError", &format!("a fault of fiberscope, please report it: {text}"))
}
