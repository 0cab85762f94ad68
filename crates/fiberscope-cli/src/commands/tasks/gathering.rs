//! The results of a folder, as far as they have been read.

use std::collections::{BTreeMap, BTreeSet};

use fiberscope::tasks::{Plan, Results};
use fiberscope_io::WorkFolder;

/// Results of a folder.
pub struct Gathering<'p> {
    folder: &'p WorkFolder,
    pub results: Results,
    read: BTreeSet<String>,
    /// Files that are no results of the plan, and why.
    pub refused: BTreeMap<String, String>,
}

impl<'p> Gathering<'p> {
    pub fn new(folder: &'p WorkFolder, plan: &Plan) -> Self {
        Gathering { folder, results: Results::new(plan), read: BTreeSet::new(), refused: BTreeMap::new() }
    }

    /// Reads the results that are new.
    pub fn look(&mut self) -> anyhow::Result<()> {
        for name in self.folder.results()? {
            if self.read.contains(&name) || self.refused.contains_key(&name) {
                continue;
            }
            let (bytes, path) = match self.folder.result(&name) {
                Ok(found) => found,
                // Another worker may have laid it aside.
                Err(_) => continue,
            };
            match self.results.add_named(&name, &bytes) {
                Ok(()) => {
                    self.read.insert(name);
                }
                Err(error) => {
                    self.refused.insert(name, format!("{}: {error}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Whether there is a result of a task.
    pub fn has(&self, name: &str) -> bool {
        self.read.contains(name)
    }

    /// Remembers a result of this process.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.results.add_named(name, bytes)?;
        self.read.insert(name.to_owned());
        Ok(())
    }
}
