//! The only place that prints.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fiberscope::limit::{Limit, LimitReached};
use fiberscope_io::Assumed;
use fiberscope_report::reading::HowRead;
use serde_json::{Value, json};

use crate::paint;

pub use fiberscope_report::files::{check_picture, write_picture};

/// Lines of progress that come sooner than this after the last one are not shown.
const BLINK: Duration = Duration::from_millis(50);

/// Where results, notes and errors go. Clones write to the same places.
#[derive(Clone)]
pub struct Output {
    json: bool,
    quiet: bool,
    board: Arc<Mutex<Board>>,
}

/// What is known while a command works.
#[derive(Default)]
struct Board {
    /// Whether the result is known: it is printed, or about to be.
    answered: bool,
    /// True sentences, as they were found.
    known: Vec<String>,
    /// The part of the result that is known, as text and as an object of JSON.
    so_far: Option<(String, Value)>,
    /// The last line of progress.
    progress: String,
    /// When a line of progress was last shown.
    shown: Option<Instant>,
    /// What was assumed of files, and which of their heads are no part of the network.
    read: HowRead,
    /// What saves the work, and says so, when a limit ends it from outside.
    rescue: Option<Rescue>,
}

type Rescue = Box<dyn FnOnce(Limit) -> String + Send>;

impl Output {
    pub fn new(json: bool, quiet: bool) -> Self {
        Output { json, quiet, board: Arc::default() }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // A sentence is added or not, whatever happened to the thread that held it.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a result: `value` with `--json`, else `text`; behind it what was assumed of the files that it is
    /// about, and which heads it leaves out. From here on no limit interrupts.
    pub fn result(&self, text: &str, value: &Value) -> io::Result<()> {
        let read = {
            let mut board = self.board();
            board.answered = true;
            board.read.clone()
        };
        if self.json {
            let mut value = value.clone();
            read.add_to(&mut value);
            return self.raw(format!("{value:#}\n").as_bytes());
        }
        let text = format!("{text}{}", read.text());
        let text = if paint::wanted() { paint::painted(&text) } else { text };
        self.raw(text.as_bytes())
    }

    /// Remembers what was assumed of a file, and its heads: every result from here on says it.
    pub fn read(&self, file: &str, assumed: Option<Assumed>, set_aside: &[String]) {
        self.board().read.add(file, assumed, set_aside);
    }

    /// Takes over how files were read that somebody else has read.
    pub fn read_so(&self, read: HowRead) {
        self.board().read = read;
    }

    /// What was assumed of the files so far, and their heads.
    pub fn how_read(&self) -> HowRead {
        self.board().read.clone()
    }

    /// Prints the bytes of a result. From here on no limit interrupts.
    pub fn raw_result(&self, bytes: &[u8]) -> io::Result<()> {
        self.board().answered = true;
        self.raw(bytes)
    }

    /// Prints bytes on standard output as they are.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        // Held while writing, so that nothing is said in the midst of it.
        let _board = self.board();
        print(bytes)
    }

    /// Remembers a true sentence about what was asked, in case that a limit ends the work before the result.
    pub fn know(&self, sentence: String) {
        self.board().known.push(sentence);
    }

    /// Remembers the part of the result that is known, in case that a limit ends the work before the rest: it is printed
    /// then, with `--json` its keys beside those that say so.
    pub fn know_so_far(&self, text: String, value: Value) {
        self.board().so_far = Some((text, value));
    }

    /// Prints that a limit was reached before there was a result, and what is known.
    pub fn undecided(&self, reached: &LimitReached) -> io::Result<()> {
        let mut board = self.board();
        board.answered = true;
        print(&board.undecided(&reached.to_string(), reached.limit, self.json))
    }

    /// What to do, beside saying what is known, when a limit ends the work from outside: it says what it did.
    pub fn rescue_with(&self, work: impl FnOnce(Limit) -> String + Send + 'static) {
        self.board().rescue = Some(Box::new(work));
    }

    /// Saves the work from outside and prints what is known; `false` if there is nothing to save, or the
    /// result is known and the limit comes too late.
    pub fn rescued(&self, limit: Limit) -> bool {
        let rescue = {
            let mut board = self.board();
            let rescue = if board.answered { None } else { board.rescue.take() };
            board.answered |= rescue.is_some();
            rescue
        };
        let Some(rescue) = rescue else { return false };
        let saved = rescue(limit);
        let mut board = self.board();
        board.known.push(saved);
        // Nobody is there to hear of a failure.
        let _ = print(&board.undecided(&limit.to_string(), limit, self.json));
        true
    }

    /// From here on no limit interrupts; `false` if one has begun to.
    pub fn begin_result(&self) -> bool {
        !std::mem::replace(&mut self.board().answered, true)
    }

    /// Prints that a limit was reached, from another thread; `false` if the result is known and the limit comes too late.
    pub fn interrupted(&self, limit: Limit) -> bool {
        let mut board = self.board();
        if board.answered {
            return false;
        }
        board.answered = true;
        // Nobody is there to hear of a failure.
        let _ = print(&board.undecided(&limit.to_string(), limit, self.json));
        true
    }

    /// Shows how far long work is, on one line of a terminal.
    pub fn progress(&self, text: &str) {
        if !text.is_empty() {
            let mut board = self.board();
            text.clone_into(&mut board.progress);
            if board.shown.is_some_and(|shown| shown.elapsed() < BLINK) {
                return;
            }
            board.shown = Some(Instant::now());
        }
        let mut out = io::stderr();
        if !self.quiet && out.is_terminal() {
            let _ = write!(out, "\r\x1b[K{text}");
            let _ = out.flush();
        }
    }

    /// Clears the line of [`Output::progress`].
    pub fn end_progress(&self) {
        self.progress("");
    }

    /// Prints a note on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "note: {text}");
        }
    }

    /// Prints an error on standard error, with those causes that its text does not already name.
    pub fn error(&self, error: &anyhow::Error) {
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
            if text.is_empty() {
                text = cause;
            } else if !text.ends_with(&cause) {
                text += &format!(": {cause}");
            }
        }
        let _ = writeln!(io::stderr(), "fiberscope: {text}");
    }
}

impl Board {
    /// The bytes that say that a limit was reached.
    fn undecided(&self, sentence: &str, limit: Limit, json: bool) -> Vec<u8> {
        let mut known = self.known.clone();
        if !self.progress.is_empty() {
            known.push(format!("at the last look: {}", self.progress));
        }
        if json {
            let mut value = json!({
                "verdict": "undecided", "undecided": sentence, "limit": limit.name(), "known": known,
            });
            if let (Some(object), Some((_, Value::Object(so_far)))) = (value.as_object_mut(), &self.so_far) {
                object.extend(so_far.clone());
            }
            self.read.add_to(&mut value);
            return format!("{value:#}\n").into_bytes();
        }
        let so_far = self.so_far.as_ref().map_or("", |(text, _)| text.as_str());
        let lines: String = known.iter().map(|line| format!("  known: {line}\n")).collect();
        format!("undecided: {sentence}\n{lines}{so_far}{}", self.read.text()).into_bytes()
    }
}

fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Whether standard output was closed by its reader, as in `fiberscope zoo list | head -1`.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_the_result_stands_beside_the_limit() {
        let output = Output::new(false, true);
        output.know_so_far("double  verified\n".into(), json!({"leak": [{"verdict": "verified"}]}));
        let said = |json: bool| {
            let bytes = output.board().undecided("the time limit was reached", Limit::Time, json);
            String::from_utf8(bytes).expect("text")
        };
        assert_eq!(said(false), "undecided: the time limit was reached\ndouble  verified\n");
        let value: Value = serde_json::from_str(&said(true)).expect("JSON");
        assert_eq!(
            (&value["verdict"], &value["leak"][0]["verdict"]),
            (&json!("undecided"), &json!("verified"))
        );
    }
}
