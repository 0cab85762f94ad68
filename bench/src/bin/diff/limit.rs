//! Limits in CPU seconds, which do not depend on what else the machine does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fiberscope::limit::{Deadline, Stop};

/// How often the time is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Stops work once the process has taken so many CPU seconds more; until it is dropped.
pub struct Limited {
    stop: Stop,
    over: Arc<AtomicBool>,
}

impl Limited {
    pub fn to(seconds: f64) -> Self {
        let (stop, over) = (Stop::default(), Arc::new(AtomicBool::new(false)));
        let (switch, ended, end) = (stop.clone(), over.clone(), crate::cpu() + seconds);
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if crate::cpu() >= end {
                    switch.pull();
                    break;
                }
                thread::sleep(LOOK);
            }
        });
        Limited { stop, over }
    }

    pub fn deadline(&self) -> Deadline {
        Deadline::NEVER.or(self.stop.clone())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
