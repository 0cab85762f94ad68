//! Who works on a folder.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process that works on a folder: where it is, its number there, and when it began, for numbers come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    host: String,
    process: u32,
    start: u64,
    /// Tells several workers of one process apart.
    number: u64,
}

impl Worker {
    /// A worker of this process.
    pub fn here() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let process = std::process::id();
        let start = start_of(process).unwrap_or(0);
        Worker { host: host(), process, start, number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }

    /// Whether it was a process of this machine and is gone. Where that cannot be told, it is not.
    pub fn is_gone(&self) -> bool {
        cfg!(target_os = "linux") && self.host == host() && start_of(self.process) != Some(self.start)
    }
}

impl Display for Worker {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}@{}@{}@{}", self.host, self.process, self.start, self.number)
    }
}

impl FromStr for Worker {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split('@').collect();
        let &[host, process, start, number] = &parts[..] else { return Err(()) };
        Ok(Worker {
            host: host.to_owned(),
            process: process.parse().map_err(drop)?,
            start: start.parse().map_err(drop)?,
            number: number.parse().map_err(drop)?,
        })
    }
}

/// The name of the machine, and of the container where processes are counted anew.
fn host() -> String {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let name =
        read("/proc/sys/kernel/hostname").or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let boot = read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").ok();
    let space = space.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
    let clean = |text: &str, most: usize| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c)).take(most).collect()
    };
    format!("{}.{}.{}", clean(&name, 60), clean(&boot, 8), clean(&space, 20))
}

/// When a process began, in ticks since the start of the machine; `None` if there is none, or it has ended and
/// waits for its parent to notice.
fn start_of(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may hold anything.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    if ["Z", "X"].contains(&state) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_read_as_they_are_written() {
        let worker = Worker::here();
        assert_eq!(worker.to_string().parse(), Ok(worker.clone()));
        assert_ne!(worker, Worker::here());
        assert!("a@b".parse::<Worker>().is_err() && "a@1@2@x".parse::<Worker>().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_that_are_gone_are_known() {
        let own = Worker::here();
        assert!(!own.is_gone());
        assert!(Worker { start: own.start + 1, ..own.clone() }.is_gone());
        assert!(!Worker { host: "elsewhere".into(), start: own.start + 1, ..own.clone() }.is_gone());
        // Processes that are killed are a test of the command: a child that is made here would hold, for a moment,
        // the locks of other tests.
        assert!(Worker { process: u32::MAX, ..own }.is_gone());
    }
}
