//! What the benchmarks share: peers in Python that take turns with us, a search for differences, and trained networks.

pub mod adversary;
pub mod random;
pub mod trained;

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The variables by which libraries are told how many threads to use.
const THREADS: [&str; 4] =
    ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"];

/// The CPU seconds, user and system, that a command takes from start to end, the best of some turns: the machine
/// may be busy. Short commands are repeated in a turn, since the shell counts milliseconds.
pub fn command_seconds(program: &Path, arguments: &[&str], turns: usize) -> io::Result<f64> {
    const REPEATED: usize = 8;
    let turn = |repeats: usize| {
        let script =
            "TIMEFORMAT='%3U %3S'; time for ((i = 0; i < $0; i++)); do \"$@\" > /dev/null 2>&1; done";
        let run = Command::new("bash")
            .args(["-c", script, &repeats.to_string()])
            .arg(program)
            .args(arguments)
            .output()?;
        let text = String::from_utf8_lossy(&run.stderr);
        let times: Option<Vec<f64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        match times.as_deref() {
            Some([user, system]) => Ok((user + system) / repeats as f64),
            _ => Err(io::Error::other(format!("bash did not tell the time: {text}"))),
        }
    };
    let mut best = turn(1)?;
    let repeats = if best < 0.1 { REPEATED } else { 1 };
    for _ in 1..turns {
        best = best.min(turn(repeats)?);
    }
    Ok(best)
}

/// CPU seconds of this thread; not a number where the system does not tell them.
pub fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns / 1e9)
}

/// A Python process that does its work once, and answers with a line, whenever it is asked to.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// The first line that it wrote: that it is ready, or what it is.
    pub version: String,
}

impl Peer {
    /// Starts a script in the first of the Pythons named by `FIBERSCOPE_BENCH_PYTHON` (separated by colons)
    /// that can run it. The error says in one line why there is none.
    pub fn start<S: AsRef<OsStr>>(script: &str, arguments: &[S], threads: usize) -> Result<Self, String> {
        let pythons = env::var_os("FIBERSCOPE_BENCH_PYTHON").ok_or("FIBERSCOPE_BENCH_PYTHON is not set")?;
        let mut reason = "FIBERSCOPE_BENCH_PYTHON is empty".to_owned();
        for python in env::split_paths(&pythons) {
            match Peer::start_in(&python, script, arguments, threads) {
                Ok(peer) => return Ok(peer),
                Err(error) => reason = error.to_string(),
            }
        }
        let asked: Vec<_> = arguments.iter().take(1).map(|x| x.as_ref().to_string_lossy()).collect();
        Err(format!("Python cannot run {}: {reason}", asked.join(" ")))
    }

    fn start_in<S: AsRef<OsStr>>(
        python: &Path,
        script: &str,
        arguments: &[S],
        threads: usize,
    ) -> io::Result<Self> {
        let mut command = Command::new(python);
        command.arg(script).args(arguments).envs(THREADS.map(|key| (key, threads.to_string())));
        if threads == 1 {
            command.env("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1");
        }
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().ok_or_else(|| io::Error::other("no output"))?);
        let mut peer = Peer { process, requests, answers, version: String::new() };
        peer.version = peer.line()?;
        Ok(peer)
    }

    /// Has the work done once; the answer begins with the seconds it took.
    pub fn ask(&mut self) -> io::Result<String> {
        let requests = self.requests.as_mut().ok_or_else(|| io::Error::other("no input"))?;
        requests.write_all(b"\n")?;
        requests.flush()?;
        self.line()
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the process ended without an answer"));
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The script ends with its input. A failure to wait leaves nothing to clean up.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}
