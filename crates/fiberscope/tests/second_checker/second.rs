//! The second checker, started once for many cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, Write};
use std::process::{Command, Stdio};

use fiberscope::check::{Outcome, check};
use fiberscope::{Certificate, Network};
use fiberscope_io::json;
use serde_json::{Value, json};

const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/check.py");

/// Certificates, and what the first checker says about them: the answer, the claim and its bound.
#[derive(Default)]
pub struct Cases {
    jobs: Vec<Value>,
    expected: Vec<(String, [Value; 3])>,
    /// Which of them may have two faults: such files may be called refused or unreadable.
    broken: BTreeSet<usize>,
}

impl Cases {
    pub fn add(&mut self, name: &str, certificate: &[u8], a: &Network, b: &Network) {
        self.jobs.push(job(certificate, a, b));
        self.expected.push((name.to_owned(), first(certificate, a, b)));
    }

    /// A file that was broken at several places.
    pub fn add_broken(&mut self, name: &str, certificate: &[u8], a: &Network, b: &Network) {
        self.broken.insert(self.jobs.len());
        self.add(name, certificate, a, b);
    }

    /// Asserts that the second checker says the same. How often each answer was given.
    pub fn compare(self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let mut different = Vec::new();
        let answers = run(&self.jobs);
        assert_eq!(answers.len(), self.expected.len());
        for (place, ((name, expected), answer)) in self.expected.iter().zip(&answers).enumerate() {
            let found = ["answer", "claim", "bound"].map(|key| answer[key].clone());
            *counts.entry(found[0].as_str().unwrap().to_owned()).or_default() += 1;
            let faulty = |answer: &Value| answer == "refused" || answer == "unreadable";
            let two = self.broken.contains(&place) && faulty(&found[0]) && faulty(&expected[0]);
            if found != *expected && !two {
                different.push(format!("{name}: expected {expected:?}, found {answer}"));
            }
        }
        let shown = different.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
        assert!(different.is_empty(), "{} of {} cases:\n{shown}", different.len(), answers.len());
        counts
    }
}

fn first(certificate: &[u8], a: &Network, b: &Network) -> [Value; 3] {
    let Ok(certificate) = Certificate::from_json(certificate) else {
        return ["unreadable".into(), Value::Null, Value::Null];
    };
    match check(&certificate, a, b) {
        Outcome::Proved(claim) => {
            let bound = claim.bound().map_or(Value::Null, |bound| bound.to_string().into());
            ["proved".into(), claim.name().into(), bound]
        }
        _ => ["refused".into(), Value::Null, Value::Null],
    }
}

fn job(certificate: &[u8], a: &Network, b: &Network) -> Value {
    let text = |network: &Network| {
        let mut bytes = Vec::new();
        json::write(network, &mut bytes).unwrap();
        json!({"text": String::from_utf8(bytes).unwrap()})
    };
    let certificate = match std::str::from_utf8(certificate) {
        Ok(text) => json!({"text": text}),
        Err(_) => json!({"hex": certificate.iter().map(|byte| format!("{byte:02x}")).collect::<String>()}),
    };
    json!({"certificate": certificate, "a": text(a), "b": text(b)})
}

/// The answer of the second checker to a question with these flags.
pub fn ask(certificate: &str, a: &Network, b: &Network, flags: &[(&str, Value)]) -> String {
    let mut job = job(certificate.as_bytes(), a, b);
    for (key, value) in flags {
        job[*key] = value.clone();
    }
    run(&[job])[0]["answer"].as_str().unwrap().to_owned()
}

fn run(jobs: &[Value]) -> Vec<Value> {
    let input = std::env::temp_dir().join(format!("fiberscope-second-{}-{:p}", std::process::id(), jobs));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&input).unwrap();
    std::fs::remove_file(&input).unwrap();
    for job in jobs {
        writeln!(file, "{job}").unwrap();
    }
    file.rewind().unwrap();
    let python =
        Command::new("python3").args([SECOND, "--batch"]).stdin(file).stderr(Stdio::inherit()).output();
    let output = python.expect("the second checker needs python3");
    assert!(output.status.success());
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}
