//! The folder of a training: settings, checkpoints, tables.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fiberscope::train::{TrainOptions, TrainState};
use fiberscope_io::checkpoint::{self, Checkpoint};
use fiberscope_io::{Precision, write_atomically};
use serde_json::{Value, json};

use super::args::Settings;
use super::check_same;

/// A folder that belongs to one training.
pub struct Folder {
    path: PathBuf,
    widths: Vec<usize>,
    resume: bool,
}

impl Folder {
    /// Opens or makes the folder; refuses one with another training in it, and one with checkpoints if
    /// nothing is to be resumed.
    pub fn open(
        path: &Path,
        settings: &Settings,
        options: &TrainOptions,
        resume: bool,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path).with_context(|| path.display().to_string())?;
        let config = path.join("config.json");
        match (config.exists(), resume) {
            (true, false) => {
                bail!("{}: the folder holds a training already; --resume goes on with it", path.display())
            }
            (true, true) => check_same(&Settings::read(&config)?, settings, &path.display().to_string())?,
            (false, true) => bail!("{}: there is no config.json to resume from", path.display()),
            (false, false) => {}
        }
        let text = format!("{:#}\n", serde_json::to_value(settings)?.without_nulls());
        write_atomically(&config, |file| file.write_all(text.as_bytes()))?;
        Ok(Folder { path: path.to_owned(), widths: options.widths.clone(), resume })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn state_path(&self, seed: u64) -> PathBuf {
        self.path(&format!("seed-{seed:04}.checkpoint"))
    }

    /// Stores a state in place of an older one.
    pub fn store(&self, state: &TrainState, precision: Precision) -> anyhow::Result<()> {
        let text = json!({
            "widths": self.widths, "seed": state.seed, "epoch": state.epoch, "steps": state.steps,
            "records": state.records, "diverged": state.diverged,
        });
        let vectors = vec![
            ("parameters".to_owned(), state.parameters.clone()),
            ("first_moment".to_owned(), state.first_moment.clone()),
            ("second_moment".to_owned(), state.second_moment.clone()),
        ];
        let checkpoint = Checkpoint { text: text.to_string(), vectors };
        let path = self.state_path(state.seed);
        write_atomically(&path, |file| checkpoint::write(&checkpoint, precision, file))?;
        Ok(())
    }

    /// The stored state of a seed.
    pub fn state(&self, seed: u64) -> anyhow::Result<Option<TrainState>> {
        let path = self.state_path(seed);
        if !self.resume || !path.exists() {
            return Ok(None);
        }
        let place = || path.display().to_string();
        let bytes = std::fs::read(&path).with_context(place)?;
        let stored = checkpoint::read(&bytes).with_context(place)?;
        let mut text: Value = serde_json::from_str(&stored.text).with_context(place)?;
        if text["widths"] != json!(self.widths) {
            bail!("{}: expected a network of widths {:?}, found {}", place(), self.widths, text["widths"]);
        }
        for (name, numbers) in stored.vectors {
            text[name] = json!(numbers);
        }
        // Numbers that are not finite become null in JSON; a state with them is refused here.
        Ok(Some(serde_json::from_value(text).with_context(place)?))
    }
}

/// Objects without the entries that are null.
trait WithoutNulls {
    fn without_nulls(self) -> Value;
}

impl WithoutNulls for Value {
    fn without_nulls(self) -> Value {
        match self {
            Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            other => other,
        }
    }
}
