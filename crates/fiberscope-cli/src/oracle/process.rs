//! A child process that answers one JSON line per batch on its standard output.
//!
//! Threads write to it and read from it, so that a child that neither reads nor answers is noticed by
//! the clock and not waited for.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fiberscope::extract::{Oracle, OracleError};
use fiberscope_core::Matrix;

use super::Patience;
use super::message::{Hello, excerpt, longest_answer, read_answer, read_hello, request};

/// Of what the child says on standard error, the end is kept.
const COMPLAINTS: usize = 4096;
/// How long a child may take to end after its input is closed.
const FAREWELL: Duration = Duration::from_secs(2);

/// A running child process.
pub struct ProcessOracle {
    name: String,
    child: Child,
    requests: Option<Sender<Vec<u8>>>,
    answers: Receiver<Line>,
    longest: Arc<AtomicUsize>,
    complaints: Arc<Mutex<Vec<u8>>>,
    hello: Hello,
    patience: Patience,
}

/// A line that the child wrote, or its beginning if it is longer than any answer.
enum Line {
    Whole(Vec<u8>),
    TooLong(Vec<u8>),
}

impl ProcessOracle {
    /// Starts a command and waits for its first line.
    pub fn start(command: &[OsString], patience: Patience) -> Result<Self, OracleError> {
        let name = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let failed = |error: std::io::Error| OracleError(format!("{name}: cannot be started: {error}"));
        let (program, arguments) = command.split_first().ok_or_else(|| OracleError("no command".into()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let longest = Arc::new(AtomicUsize::new(longest_answer(1, 1)));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let (requests, to_write) = channel::<Vec<u8>>();
        let (read, answers) = channel();
        let mut input = child.stdin.take().expect("standard input is piped");
        thread::spawn(move || {
            to_write.iter().all(|line| input.write_all(&line).and_then(|()| input.flush()).is_ok())
        });
        let output = child.stdout.take().expect("standard output is piped");
        let limit = Arc::clone(&longest);
        thread::spawn(move || read_lines(output, &limit, &read));
        let errors = child.stderr.take().expect("standard error is piped");
        let heard = Arc::clone(&complaints);
        thread::spawn(move || listen(errors, &heard));
        let hello = Hello { inputs: 1, outputs: 1, classes: None, max_batch: None };
        let requests = Some(requests);
        let mut oracle =
            ProcessOracle { name, child, requests, answers, longest, complaints, hello, patience };
        let first = oracle.line()?;
        oracle.hello =
            read_hello(&first).map_err(|reason| oracle.error(&format!("its first line: {reason}")))?;
        Ok(oracle)
    }

    /// The most queries that the child takes at once.
    pub fn max_batch(&self) -> Option<usize> {
        self.hello.max_batch
    }

    /// The number of classes if it answers classes.
    pub fn classes(&self) -> Option<usize> {
        self.hello.classes
    }

    fn error(&self, text: &str) -> OracleError {
        OracleError(format!("{}: {text}", self.name))
    }

    /// The next line of the child.
    fn line(&mut self) -> Result<Vec<u8>, OracleError> {
        let wait = self.patience.wait();
        match self.answers.recv_timeout(wait) {
            Ok(Line::Whole(line)) => Ok(line),
            Ok(Line::TooLong(start)) => {
                Err(self.error(&format!("a line of more than {} bytes: {}", start.len(), excerpt(&start))))
            }
            Err(RecvTimeoutError::Timeout) => Err(self.error(&format!(
                "no answer within {}{}",
                self.patience.in_words(wait),
                self.last_words()
            ))),
            Err(RecvTimeoutError::Disconnected) => {
                let how = match ended(&mut self.child, FAREWELL) {
                    Some(status) => format!("ended ({status}) before it answered"),
                    None => "closed its output before it answered".into(),
                };
                Err(self.error(&format!("{how}{}", self.last_words())))
            }
        }
    }

    /// The last line on standard error, as an addition to a message.
    fn last_words(&self) -> String {
        // The thread that listens may still be at the last bytes.
        thread::sleep(Duration::from_millis(20));
        let heard = self.complaints.lock().map(|heard| heard.clone()).unwrap_or_default();
        let last = heard.rsplit(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        last.map_or(String::new(), |line| format!("; its standard error ends with {}", excerpt(line)))
    }
}

impl Oracle for ProcessOracle {
    fn inputs(&self) -> usize {
        self.hello.inputs
    }

    fn outputs(&self) -> usize {
        self.hello.outputs
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let (rows, outputs) = (points.rows(), self.hello.outputs);
        self.longest.store(longest_answer(rows, outputs), Ordering::Relaxed);
        let mut line = request(points);
        line.push(b'\n');
        // A thread that stopped writing has lost the child: the missing answer says so better.
        let _ = self.requests.as_ref().expect("requests end with the oracle").send(line);
        let answer = self.line()?;
        read_answer(&answer, rows, outputs).map_err(|reason| self.error(&reason))
    }
}

impl Drop for ProcessOracle {
    fn drop(&mut self) {
        drop(self.requests.take());
        if ended(&mut self.child, FAREWELL).is_none() {
            // If it has just ended by itself there is nothing to kill.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits for the end of the child, but not for longer than this.
fn ended(child: &mut Child, longest: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if start.elapsed() < longest => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

/// Passes lines on until the output ends or nobody wants them.
fn read_lines(output: impl Read, longest: &AtomicUsize, lines: &Sender<Line>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    loop {
        let mut line = Vec::new();
        loop {
            let Ok(found) = output.fill_buf() else { return };
            if found.is_empty() {
                // Also a line without an end tells what went wrong.
                if !line.is_empty() {
                    let _ = lines.send(Line::Whole(line));
                }
                return;
            }
            let end = found.iter().position(|&byte| byte == b'\n');
            line.extend_from_slice(&found[..end.unwrap_or(found.len())]);
            let taken = end.map_or(found.len(), |end| end + 1);
            output.consume(taken);
            if line.len() > longest.load(Ordering::Relaxed) {
                let _ = lines.send(Line::TooLong(line));
                return;
            }
            if end.is_some() {
                break;
            }
        }
        if lines.send(Line::Whole(line)).is_err() {
            return;
        }
    }
}

/// Keeps the end of what is said.
fn listen(mut errors: impl Read, heard: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        let Ok(mut heard) = heard.lock() else { return };
        heard.extend_from_slice(&buffer[..count]);
        let surplus = heard.len().saturating_sub(COMPLAINTS);
        heard.drain(..surplus);
    }
}
