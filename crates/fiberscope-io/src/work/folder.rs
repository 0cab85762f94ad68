//! The files of a folder that many workers share.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::worker::Worker;
use crate::write::write_atomically;
use crate::{FormatError, IoError};

/// A folder with a plan, tasks, leases and results.
pub struct WorkFolder {
    path: PathBuf,
    /// How long a lease lasts without being renewed.
    lasts: Duration,
    /// Leases of others: the time of the file, and when it was first seen to have it.
    seen: Mutex<HashMap<String, (SystemTime, Instant)>>,
}

/// A task that this worker does.
pub struct Lease {
    /// The name of the task.
    pub name: String,
    path: PathBuf,
    free: PathBuf,
}

const PLAN: &str = "plan";
const TASKS: &str = "tasks";
const LEASES: &str = "leases";
const RESULTS: &str = "results";
/// The task of making tasks, which one worker does at a time.
const TURN: &str = "turn";

impl WorkFolder {
    /// Makes the folder, which must not exist or be empty, with a plan and its first tasks.
    pub fn create(
        path: &Path,
        plan: &[u8],
        tasks: &[(String, Vec<u8>)],
        lasts: Duration,
    ) -> Result<Self, IoError> {
        let fail = |source| IoError::File { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(fail)?;
        if fs::read_dir(path).map_err(fail)?.next().is_some() {
            return Err(fail(io::Error::other("expected an empty folder, or none")));
        }
        let folder = WorkFolder { path: path.to_owned(), lasts, seen: Mutex::default() };
        for name in [TASKS, LEASES, RESULTS] {
            let inner = path.join(name);
            fs::create_dir(&inner).map_err(|source| IoError::File { path: inner, source })?;
        }
        for (name, bytes) in tasks {
            folder.put(TASKS, name, bytes)?;
        }
        folder.put(TASKS, TURN, b"who holds this makes tasks\n")?;
        // Last, so that a folder with a plan is whole.
        write_atomically(&path.join(PLAN), |file| file.write_all(plan))?;
        Ok(folder)
    }

    /// Opens a folder, with leases that last so long without being renewed.
    pub fn open(path: &Path, lasts: Duration) -> Result<Self, IoError> {
        let plan = path.join(PLAN);
        if !plan.is_file() || ![TASKS, LEASES, RESULTS].iter().all(|name| path.join(name).is_dir()) {
            let what = "expected a folder that `fiberscope plan` made: a file `plan` and folders `tasks`, `leases`, `results`";
            let source = io::Error::new(ErrorKind::NotFound, what);
            return Err(IoError::File { path: path.to_owned(), source });
        }
        Ok(WorkFolder { path: path.to_owned(), lasts, seen: Mutex::default() })
    }

    /// The plan, and its file.
    pub fn plan(&self) -> Result<(Vec<u8>, PathBuf), IoError> {
        let path = self.path.join(PLAN);
        let bytes = fs::read(&path).map_err(|source| IoError::File { path: path.clone(), source })?;
        Ok((bytes, path))
    }

    /// The names of all results.
    pub fn results(&self) -> Result<Vec<String>, IoError> {
        let mut names = self.list(RESULTS)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Whether there is a result of a task.
    pub fn has_result(&self, name: &str) -> bool {
        self.path.join(RESULTS).join(name).is_file()
    }

    /// A result, and its file.
    pub fn result(&self, name: &str) -> Result<(Vec<u8>, PathBuf), IoError> {
        let path = self.path.join(RESULTS).join(name);
        let bytes = fs::read(&path).map_err(|source| IoError::File { path: path.clone(), source })?;
        Ok((bytes, path))
    }

    /// Keeps a result and gives up the lease of its task.
    pub fn keep(&self, lease: Lease, result: &[u8]) -> Result<(), IoError> {
        if let Err(error) = self.put(RESULTS, &lease.name, result) {
            lease.give_back();
            return Err(error);
        }
        lease.end();
        Ok(())
    }

    /// Takes a task that is free; `None` if it is not.
    pub fn take(&self, name: &str, worker: &Worker) -> Result<Option<Lease>, IoError> {
        let free = self.path.join(TASKS).join(name);
        self.rename(&free, &free, name, worker)
    }

    /// Takes over the lease of a worker that is gone, or that has not renewed it for too long; `None` if there is none. Who asks
    /// for the first time sees only who is gone.
    pub fn take_over(&self, name: &str, worker: &Worker) -> Result<Option<Lease>, IoError> {
        let free = self.path.join(TASKS).join(name);
        for (file, holder) in self.holders(name)? {
            let path = self.path.join(LEASES).join(&file);
            let expired = holder.is_some_and(|holder| holder.is_gone()) || self.is_stale(&file, &path);
            if expired && let Some(lease) = self.rename(&path, &free, name, worker)? {
                return Ok(Some(lease));
            }
        }
        Ok(None)
    }

    /// Who does a task, if anybody does.
    pub fn holder(&self, name: &str) -> Result<Option<String>, IoError> {
        let holders = self.holders(name)?;
        Ok(holders.into_iter().next().map(|(file, _)| file[name.len() + 1..].to_owned()))
    }

    /// Makes tasks, unless they are free, being done or done; how many are new. One worker does this at a time: `None`
    /// if another one does.
    pub fn offer(&self, tasks: &[(String, Vec<u8>)], worker: &Worker) -> Result<Option<usize>, IoError> {
        let turn = match self.take(TURN, worker)? {
            Some(turn) => turn,
            None => match self.take_over(TURN, worker)? {
                Some(turn) => turn,
                None => return Ok(None),
            },
        };
        let made = self.offer_missing(tasks);
        turn.give_back();
        made.map(Some)
    }

    fn offer_missing(&self, tasks: &[(String, Vec<u8>)]) -> Result<usize, IoError> {
        // A task moves from one folder to the next, so that looking in this order misses none.
        let mut known = self.list(TASKS)?;
        known.extend(
            self.list(LEASES)?.into_iter().filter_map(|file| Some(file.split_once('@')?.0.to_owned())),
        );
        known.extend(self.list(RESULTS)?);
        known.sort_unstable();
        let mut made = 0;
        for (name, bytes) in tasks {
            if known.binary_search(name).is_err() && self.holder(name)?.is_none() {
                self.put(TASKS, name, bytes)?;
                made += 1;
            }
        }
        Ok(made)
    }

    /// Lays a file aside that is no result, so that its task can be done again.
    pub fn lay_aside(&self, name: &str) -> Result<(), IoError> {
        let path = self.path.join(RESULTS).join(name);
        match fs::rename(&path, self.path.join(RESULTS).join(format!(".refused-{name}"))) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| IoError::File { path, source }),
        }
    }

    /// How often a lease is to be renewed.
    pub fn renewal(&self) -> Duration {
        self.lasts / 4
    }

    fn put(&self, folder: &str, name: &str, bytes: &[u8]) -> Result<(), IoError> {
        let path = self.path.join(folder).join(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            let source = FormatError::malformed(format!("{name:?} is no name of a task"));
            return Err(IoError::Format { path: self.path.clone(), source });
        }
        write_atomically(&path, |file| file.write_all(bytes))
    }

    /// Renames a file to a lease of a worker; `None` if it is not there any more.
    fn rename(
        &self,
        from: &Path,
        free: &Path,
        name: &str,
        worker: &Worker,
    ) -> Result<Option<Lease>, IoError> {
        let path = self.path.join(LEASES).join(format!("{name}@{worker}"));
        // Renewed before it is taken, so that nobody takes it over in between.
        let taken = renew(from).and_then(|()| fs::rename(from, &path));
        match taken {
            Ok(()) => Ok(Some(Lease { name: name.to_owned(), path, free: free.to_owned() })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(IoError::File { path: from.to_owned(), source }),
        }
    }

    /// The leases of a task, with their workers where the name tells one.
    fn holders(&self, name: &str) -> Result<Vec<(String, Option<Worker>)>, IoError> {
        let leases = self.list(LEASES)?.into_iter();
        let holder = |file: String| {
            let (task, worker) = file.split_once('@')?;
            (task == name).then(|| worker.parse().ok()).map(|worker| (file.clone(), worker))
        };
        Ok(leases.filter_map(holder).collect())
    }

    /// Whether a lease was not renewed for too long, as far as this worker has seen.
    fn is_stale(&self, file: &str, path: &Path) -> bool {
        let Ok(time) = path.metadata().and_then(|data| data.modified()) else { return false };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(file) {
            Some((before, since)) if *before == time => since.elapsed() > self.lasts,
            _ => {
                seen.insert(file.to_owned(), (time, Instant::now()));
                false
            }
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, IoError> {
        let path = self.path.join(folder);
        let fail = |source| IoError::File { path: path.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            // Files that begin with a dot are being written.
            names.extend(name.into_string().ok().filter(|name| !name.starts_with('.')));
        }
        Ok(names)
    }
}

impl Lease {
    /// Renews it; `false` if another worker has taken it over.
    pub fn renew(&self) -> bool {
        !matches!(renew(&self.path), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Another handle of the same lease, for a thread that renews it.
    pub fn twin(&self) -> Lease {
        Lease { name: self.name.clone(), path: self.path.clone(), free: self.free.clone() }
    }

    /// Ends it: the task is done.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Makes the task free again.
    pub fn give_back(self) {
        // If this fails, the lease expires.
        let _ = fs::rename(&self.path, &self.free);
    }
}

/// Changes the time of a file.
fn renew(path: &Path) -> io::Result<()> {
    File::options().append(true).open(path)?.set_modified(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn tasks(names: &[&str]) -> Vec<(String, Vec<u8>)> {
        names.iter().map(|name| (name.to_string(), b"do".to_vec())).collect()
    }

    #[test]
    fn one_of_many_gets_a_task() {
        let place = tempfile::tempdir().unwrap();
        WorkFolder::create(place.path(), b"plan", &tasks(&["a", "b"]), LONG).unwrap();
        let path = place.path();
        let taken: usize = std::thread::scope(|scope| {
            let run = || {
                let (folder, worker) = (WorkFolder::open(path, LONG).unwrap(), Worker::here());
                ["a", "b"].iter().filter(|name| folder.take(name, &worker).unwrap().is_some()).count()
            };
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 2);
    }

    #[test]
    fn a_task_goes_its_way_once() {
        let place = tempfile::tempdir().unwrap();
        let folder = WorkFolder::create(place.path(), b"plan", &tasks(&["a"]), LONG).unwrap();
        let (one, other) = (Worker::here(), Worker::here());
        let lease = folder.take("a", &one).unwrap().unwrap();
        assert!(
            folder.take("a", &other).unwrap().is_none() && folder.take_over("a", &other).unwrap().is_none()
        );
        assert_eq!(folder.offer(&tasks(&["a", "b"]), &other).unwrap(), Some(1));
        lease.give_back();
        let lease = folder.take("a", &other).unwrap().unwrap();
        assert!(lease.renew());
        folder.keep(lease, b"done").unwrap();
        assert_eq!(folder.offer(&tasks(&["a", "b"]), &one).unwrap(), Some(0));
        assert_eq!(
            (folder.results().unwrap(), folder.result("a").unwrap().0),
            (vec!["a".into()], b"done".to_vec())
        );
    }

    #[test]
    fn leases_that_nobody_renews_are_taken_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = WorkFolder::create(place.path(), b"plan", &tasks(&["a"]), Duration::ZERO).unwrap();
        let (one, other) = (Worker::here(), Worker::here());
        let lost = folder.take("a", &one).unwrap().unwrap();
        // The first look only notes the time.
        assert!(folder.take_over("a", &other).unwrap().is_none());
        std::thread::sleep(Duration::from_millis(2));
        let won = folder.take_over("a", &other).unwrap().unwrap();
        assert!(!lost.renew() && won.renew());
    }

    #[test]
    fn what_is_no_folder_of_tasks_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let error = WorkFolder::open(place.path(), LONG).err().unwrap().to_string();
        assert!(error.contains("that `fiberscope plan` made"), "{error}");
        std::fs::write(place.path().join("other"), "").unwrap();
        let error = WorkFolder::create(place.path(), b"", &[], LONG).err().unwrap().to_string();
        assert!(error.contains("expected an empty folder"), "{error}");
        let inner = place.path().join("inner");
        assert!(WorkFolder::create(&inner, b"", &tasks(&["../a"]), LONG).is_err());
    }
}
