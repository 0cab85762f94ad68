//! `fiberscope extract` with models, child processes and HTTP endpoints, good and bad.

mod server;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Precision, ReadOptions, load, save};
use serde_json::{Value, json};
use server::{Reply, Server, function, hello, respond};

/// A network 3-4-2 of numbers without a pattern.
fn network() -> Network {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / 2f64.powi(53) * 2.0 - 1.0
    };
    let mut layer = |rows, cols, activation| {
        let weight = Matrix::from_fn(rows, cols, |_, _| next());
        Layer::new(weight, (0..rows).map(|_| 0.3 * next()).collect(), activation)
    };
    Network::new(vec![layer(4, 3, Activation::Relu), layer(2, 4, Activation::Identity)]).unwrap()
}

/// A folder with the network in `net.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(&network(), &folder.path().join("net.json"), Precision::F64).unwrap();
    folder
}

/// Runs the command: exit code, standard output, standard error.
fn run<S: AsRef<std::ffi::OsStr>>(folder: &Path, words: &[S]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    let output =
        command.arg("extract").args(words).current_dir(folder).env("TOKEN", "s3cret").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a line of words without spaces, with `--json`.
fn json(folder: &Path, line: &str, code: i32) -> Value {
    let words: Vec<_> = ["--json"].into_iter().chain(line.split(' ')).collect();
    let (found, out, error) = run(folder, &words);
    assert_eq!(found, code, "{line}: {out}{error}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The run fails with code 2 and these words, and prints no result.
fn fails<S: AsRef<std::ffi::OsStr>>(folder: &Path, words: &[S], expected: &[&str]) {
    let (code, out, error) = run(folder, words);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    for part in expected {
        assert!(error.contains(part), "expected {part:?} in: {error}");
    }
    assert!(!folder.join("out.json").exists());
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_model_is_recovered_and_compared_with_the_truth() {
    let folder = folder();
    let value = json(folder.path(), "net.json -o out.json --truth net.json --plot plot.svg", 0);
    for key in [
        "queries",
        "layers",
        "max_relative_error",
        "fidelity",
        "verdict",
        "noise",
        "domain",
        "spent",
        "remarks",
        "disagreements",
        "max_error",
        "equiv",
    ] {
        assert!(value.get(key).is_some(), "{key}");
    }
    assert_eq!((&value["verdict"], &value["widths"]), (&json!("verified"), &json!([3, 4, 2])));
    assert!(value["max_error"].as_f64().unwrap() < 1e-11, "{value}");
    assert_eq!(value["equiv"]["verdict"], "equivalent_up_to_rounding");
    let spent: u64 =
        value["spent"].as_array().unwrap().iter().map(|part| part["queries"].as_u64().unwrap()).sum();
    assert_eq!(Some(spent), value["queries"].as_u64());
    // The log of a run that went well is not left behind.
    assert_eq!(names(folder.path()), ["net.json", "out.json", "plot.svg"]);
    assert!(
        fs::read_to_string(folder.path().join("plot.svg")).unwrap().contains("Largest error of a parameter")
    );
}

#[test]
fn equal_seeds_give_equal_files_whatever_the_number_of_threads() {
    let folder = folder();
    json(folder.path(), "net.json -o a.json --threads 1 --seed 3", 0);
    json(folder.path(), "net.json -o b.json --threads 2 --seed 3", 0);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("a.json") == read("b.json"));
}

#[test]
fn widths_are_taken_with_and_without_the_ends_and_refuted() {
    let folder = folder();
    for widths in ["4", "3,4,2"] {
        assert_eq!(
            json(folder.path(), &format!("net.json -o out.json --widths {widths}"), 0)["verdict"],
            "verified"
        );
    }
    let refuted = json(folder.path(), "net.json -o out.json --widths 5", 1);
    assert!(refuted["reason"].as_str().unwrap().contains("[5]"), "{refuted}");
    fails(
        self::folder().path(),
        &["net.json", "-o", "out.json", "--widths", "0"],
        &["hidden widths must be positive"],
    );
}

/// The first line of `answer` says what was assumed of the file, and which heads it leaves out.
#[test]
fn a_greeting_says_how_the_file_was_read() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/tests/data/");
    let greeting = |file: &str| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
        let output =
            command.args(["answer", &format!("{data}{file}")]).stdin(Stdio::null()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let bare = greeting("npz/f64.npz");
    assert_eq!((&bare["assumed_activation"], bare.get("set_aside")), (&"relu".into(), None));
    let headed = greeting("onnx/graphs/softmax.onnx");
    assert_eq!(headed["set_aside"].as_object().unwrap().len(), 1, "{headed}");
}

#[test]
fn a_child_process_answers() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_fiberscope");
    let value = json(
        folder.path(),
        &format!("-o out.json --batch 7 --truth net.json -- {program} answer net.json"),
        0,
    );
    assert!(value["max_error"].as_f64().unwrap() < 1e-11, "{value}");
}

#[test]
fn an_endpoint_answers_with_a_token_after_failures() {
    let folder = folder();
    let f = function(network());
    let server = Server::start(move |number, request| match number {
        1 => Reply::Status(503, "", "warming up".into()),
        2 => Reply::Status(429, "Retry-After: 0\r\n", String::new()),
        4 => Reply::Close,
        _ => respond(3, 2, request, &f),
    });
    let value =
        json(folder.path(), &format!("{} -o out.json --token-env TOKEN --truth net.json", server.url), 0);
    assert!(value["max_error"].as_f64().unwrap() < 1e-11, "{value}");
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.authorization.as_deref() == Some("Bearer s3cret")));
    assert_eq!(requests[1].body, requests[3].body);
}

#[test]
fn an_interrupted_run_goes_on_without_asking_again() {
    let folder = folder();
    let whole = json(folder.path(), "net.json -o whole.json", 0);
    let asked = std::sync::Arc::new(AtomicU64::new(0));
    let count = std::sync::Arc::clone(&asked);
    let f = function(network());
    let server = Server::start(move |_, request| {
        if request.method == "POST" {
            let rows = server::points(&request.body).len() as u64;
            // The power fails after 60 queries.
            if count.fetch_add(rows, Ordering::Relaxed) < 60 {
                return respond(3, 2, request, &f);
            }
            return Reply::Status(400, "", "{\"error\": \"no power\"}".into());
        }
        Reply::ok(&hello(3, 2))
    });
    let line = format!("{} -o out.json --batch 4 --resume log", server.url);
    let (code, out, error) = run(folder.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains("no power") && error.contains("the query log is kept: --resume log"), "{error}");
    let answered = 60;
    let healthy = Server::of(3, 2, function(network()));
    let value = json(folder.path(), &format!("{} -o out.json --batch 4 --resume log", healthy.url), 0);
    assert_eq!(value["replayed"].as_u64(), Some(answered));
    let posted: usize =
        healthy.requests().iter().filter(|r| r.method == "POST").map(|r| server::points(&r.body).len()).sum();
    // All that is left, and the last query of the log once more.
    assert_eq!(posted as u64, value["queries"].as_u64().unwrap() - answered + 1);
    assert!(value["queries"].as_u64().unwrap().abs_diff(whole["queries"].as_u64().unwrap()) < 50);
    assert!(folder.path().join("log").exists());
}

#[test]
fn limits_end_with_code_3_and_a_log_that_goes_on() {
    let folder = folder();
    let value = json(folder.path(), "net.json -o out.json --max-queries 50", 3);
    assert!(value["queries"].as_u64().unwrap() <= 50);
    assert_eq!(value["log"], "out.json.queries");
    assert_eq!(names(folder.path()), ["net.json", "out.json.queries"]);
    let value = json(folder.path(), "net.json -o out.json --resume out.json.queries", 0);
    let whole = json(folder.path(), "net.json -o whole.json", 0);
    assert!(value["replayed"].as_u64().unwrap() > 0);
    assert_eq!(value["queries"], whole["queries"]);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("out.json") == read("whole.json"), "the interruption does not show");
    assert_eq!(run(folder.path(), &["net.json", "-o", "out.json", "--time-limit", "1e-9"]).0, 3);
}

#[test]
fn logs_of_other_runs_are_refused_and_left_alone() {
    let folder = folder();
    json(folder.path(), "net.json -o out.json --resume log", 0);
    fs::remove_file(folder.path().join("out.json")).unwrap();
    let before = fs::read(folder.path().join("log")).unwrap();
    let refused = |line: &str, expected: &str| {
        fails(folder.path(), &line.split(' ').collect::<Vec<_>>(), &[expected]);
        assert!(fs::read(folder.path().join("log")).unwrap() == before);
    };
    refused(
        "net.json -o out.json --resume log --seed 1",
        "log: the log of another run: it has seed 0, this run has 1",
    );
    refused("net.json -o out.json --resume log --domain -1,1", "domain -3,3, this run has -1,1");
    refused("zoo:abs -o out.json --resume log", "inputs 3, this run has 1");
    refused("net.json -o out.json --resume net.json", "net.json: not a log of queries");
    let other = Server::of(3, 2, |x| vec![x[0].max(0.0), 1.0]);
    fs::write(folder.path().join("log"), &before[..before.len() - 5]).unwrap();
    fails(folder.path(), &[&other.url, "-o", "out.json", "--resume", "log"], &["the log of another oracle"]);
}

#[test]
fn children_that_misbehave() {
    let folder = folder();
    let start = |command: &[&str]| {
        [&["-o", "out.json", "--timeout", "0.5", "--"], command]
            .concat()
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    let greeting = hello(1, 1).to_string();
    let check = |command: &[&str], expected: &[&str]| fails(folder.path(), &start(command), expected);
    check(&["no-such-program"], &["no-such-program: cannot be started"]);
    check(&["true"], &["true: ended (exit status: 0) before it answered"]);
    check(&["printf", "hi\\n"], &["its first line: expected {\"format\"", "found \"hi\""]);
    check(&["ls", "no-such-file"], &["ended (exit status:", "its standard error ends with"]);
    check(&["printf", "%s\\n", &greeting], &["ended (exit status: 0) before it answered"]);
    check(&["printf", "%s\\n", &greeting, "{\"outputs\": [[NaN]]}"], &["expected", "answers"]);
    let forever = folder.path().join("hello.txt");
    fs::write(&forever, format!("{greeting}\n")).unwrap();
    check(&["tail", "-f", forever.to_str().unwrap()], &["no answer within 0.5 s"]);
    check(&["yes"], &["its first line"]);
    check(&["cat", "/dev/zero"], &["a line of more than"]);
    assert!(
        names(folder.path()).iter().all(|name| !name.ends_with(".queries")),
        "{:?}",
        names(folder.path())
    );
}

#[test]
fn endpoints_that_misbehave() {
    let folder = folder();
    let check = |server: &Server, more: &[&str], expected: &[&str]| {
        let words = [&[server.url.as_str(), "-o", "out.json", "--retries", "0"], more].concat();
        fails(folder.path(), &words, expected);
    };
    let silent = Server::start(|_, _| Reply::Silence);
    check(&silent, &["--timeout", "0.5"], &["no answer within 0.5 s"]);
    let moved = Server::start(|_, _| Reply::Status(302, "Location: http://elsewhere/\r\n", String::new()));
    check(&moved, &[], &["302", "http://elsewhere/"]);
    let forbidden = Server::start(|_, _| Reply::Status(401, "", "who are you?".into()));
    check(&forbidden, &[], &["401", "who are you?"]);
    let page = Server::start(|_, _| Reply::Status(200, "", "<html>".into()));
    check(&page, &[], &["found \"<html>\"", "--sizes"]);
    let closing = Server::start(|_, request| match request.method.as_str() {
        "GET" => Reply::ok(&hello(1, 1)),
        _ => Reply::Close,
    });
    check(&closing, &[], &[&closing.url]);
    let short = Server::start(|_, request| match request.method.as_str() {
        "GET" => Reply::ok(&hello(1, 1)),
        _ => Reply::ok(&json!({"outputs": []})),
    });
    check(&short, &[], &["answers to", "found 0"]);
    let ragged = Server::of(2, 2, |x| vec![x[0]; if x[1] > 0.0 { 2 } else { 1 }]);
    check(&ragged, &[], &["expected 2 outputs, found 1"]);
    let endless = Server::start(|_, _| Reply::Status(200, "", "[".repeat(1 << 20)));
    check(&endless, &[], &["more than"]);
    assert_eq!(names(folder.path()), ["net.json"], "no answer, no log");
}

#[test]
fn functions_that_are_no_relu_networks() {
    let folder = folder();
    let kept = |f: fn(&[f64]) -> Vec<f64>, expected: &str| {
        let server = Server::of(2, 1, f);
        fails(
            folder.path(),
            &[&server.url, "-o", "out.json"],
            &[expected, "the query log is kept: --resume out.json"],
        );
    };
    kept(|x| vec![1.0 / (1.0 + (-x[0] - 0.3 * x[1]).exp())], "not piecewise linear");
    kept(|x| vec![(x[0].exp()) / (x[0].exp() + x[1].exp())], "not piecewise linear");
    kept(|x| vec![if x[0] > 0.0 { f64::NAN } else { x[1] }], "the oracle answered NaN in output 1");
    static CALLS: AtomicU64 = AtomicU64::new(0);
    kept(|x| vec![x[0] + 1e-3 * CALLS.fetch_add(1, Ordering::Relaxed) as f64], "not deterministic");
}

#[test]
fn flags_that_make_no_sense() {
    let folder = folder();
    let check =
        |line: &str, expected: &str| fails(folder.path(), &line.split(' ').collect::<Vec<_>>(), &[expected]);
    check(
        "net.json -o out.json --domain 1,1",
        "the domain must be an interval with a lower end below the upper end, found 1,1",
    );
    check("net.json -o out.json --domain 1", "expected LO,HI");
    check("net.json -o out.json --noise -1", "expected auto or a positive number");
    check("net.json -o out.json --max-queries 0", "0 is not in 1..");
    check("net.json -o out.pt", "expected a file name ending in .json");
    check("net.json -o nowhere/out.json", "there is no folder nowhere");
    check("net.json -o out.json --plot out.jpg", "expected a file name ending in .svg, .png, .pdf or .tex");
    check(
        "net.json -o out.json --truth zoo:abs",
        "zoo:abs: expected 3 inputs and 2 outputs, as the oracle has, found 1 and 1",
    );
    check("net.json -o out.json --rate 5", "--rate: expected an oracle http(s)://..., found a model");
    check(
        "http://127.0.0.1:1/ -o out.json --token-env NO_SUCH_VARIABLE",
        "the environment variable NO_SUCH_VARIABLE is not set",
    );
    check("http:// -o out.json", "expected an address such as");
    check("http://127.0.0.1:1/ -o out.json --leak-report", "--leak-report: expected a model");
    check("missing.json -o out.json", "missing.json: No such file");
    check("net.json", "-o <OUT>");
    assert_eq!(names(folder.path()), ["net.json"]);
}

#[test]
fn the_leak_report_has_a_row_per_precision() {
    let folder = folder();
    let value = json(folder.path(), "net.json --leak-report", 0);
    let rows = value["leak"].as_array().unwrap();
    let precisions: Vec<_> = rows.iter().map(|row| row["precision"].as_str().unwrap()).collect();
    assert_eq!(
        precisions,
        [
            "double",
            "12 decimals",
            "10 decimals",
            "8 decimals",
            "7 decimals",
            "6 decimals",
            "5 decimals",
            "4 decimals",
            "3 decimals",
            "float32",
            "float16",
            "noise 1e-9",
            "noise 1e-6",
            "noise 1e-3",
            "class only"
        ]
    );
    assert_eq!(rows[0]["verdict"], "verified");
    assert!(rows[0]["digits"].as_f64().unwrap() > 11.0, "{value}");
    for row in rows {
        // Digits, and never more than the answers had; or the reason why there are none.
        match row["digits"].as_f64() {
            Some(digits) => {
                assert!(row["decimals"].as_f64().is_none_or(|decimals| digits < decimals + 2.0), "{row}");
            }
            None => assert!(row["reason"].is_string(), "{row}"),
        }
    }
    // What honest users lose: less with more digits, and no class where classes are answered.
    let change = |row: usize| rows[row]["largest_change"].as_f64().unwrap();
    assert!(change(0) == 0.0 && change(3) < change(8) && change(8) <= 5.1e-4, "{value}");
    assert!(rows[14]["largest_change"].is_null() && rows[14]["classes_changed"] == 0.0, "{value}");
    assert_eq!(names(folder.path()), ["net.json"]);
}

#[test]
fn the_leak_report_makes_a_page() {
    let folder = folder();
    fs::write(folder.path().join("inputs.csv"), "0.1,0.2,0.3\n1,-1,0.5\n").unwrap();
    let line = "net.json --leak-report --max-queries 3000 --data inputs.csv -o leak.html";
    let value = json(folder.path(), line, 0);
    assert_eq!((&value["inputs"], &value["from_data"]), (&json!(2), &json!(true)));
    let html = fs::read_to_string(folder.path().join("leak.html")).unwrap();
    assert!(
        html.contains("What stops which stage") && html.contains("class only") && html.contains("<svg"),
        "{html}"
    );
    // A model with a head: the page names what was left out.
    let head = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/tests/data/onnx/graphs/softmax.onnx");
    assert!(!html.contains("is read up to"), "{html}");
    run(folder.path(), &[head, "--leak-report", "--max-queries", "200", "-o", "head.html"]);
    let html = fs::read_to_string(folder.path().join("head.html")).unwrap();
    assert!(html.contains("is read up to what stands before") && html.contains("(Softmax)"), "{html}");
    fs::write(folder.path().join("inputs.csv"), "0.1,0.2\n").unwrap();
    let (code, _, error) = run(folder.path(), &line.split(' ').collect::<Vec<_>>());
    assert!(code == 2 && error.contains("expected 3 columns, as the model has inputs, found 2"), "{error}");
}

#[test]
fn classes_are_enough() {
    let folder = folder();
    let value = json(folder.path(), "net.json --labels --truth net.json -o found.json", 0);
    assert_eq!((&value["verdict"], &value["labels"]), (&json!("verified"), &json!(true)));
    assert!(value["agreement"]["changes"].as_u64().unwrap() > 0, "{value}");
    assert!(value["max_error"].as_f64().unwrap() < 1e-9, "{value}");
    assert_eq!(names(folder.path()), ["found.json", "net.json"]);
    // A child process that answers nothing but classes.
    let answer = [env!("CARGO_BIN_EXE_fiberscope"), "answer", "net.json", "--labels"];
    let words: Vec<&str> =
        ["--json", "--labels", "-o", "again.json", "--"].into_iter().chain(answer).collect();
    let (code, out, error) = run(folder.path(), &words);
    assert_eq!(code, 0, "{error}");
    let again: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&again["queries"], &again["widths"]), (&value["queries"], &value["widths"]));
    let words: Vec<&str> = ["-o", "again.json", "--"].into_iter().chain(answer).collect();
    fails(folder.path(), &words, &["it answers classes only; --labels extracts from these"]);
}

#[test]
fn the_recovered_file_is_a_network() {
    let folder = folder();
    json(folder.path(), "net.json -o out.npz", 0);
    let path = folder.path().join("out.npz");
    let found = load(path.to_str().unwrap(), &ReadOptions::default()).unwrap().network;
    assert_eq!(found.widths(), [3, 4, 2]);
}

#[test]
fn boundaries_and_signs_are_steps_of_their_own() {
    let folder = folder();
    let at = folder.path();
    let truth = network();
    let hidden = &truth.layers()[0];
    // Points of the hyperplanes of the first layer: the foot of the perpendicular, and two steps along it.
    let points = |w: &[f64], b: f64| -> Value {
        let square: f64 = w.iter().map(|x| x * x).sum();
        let foot: Vec<f64> = w.iter().map(|x| -b * x / square).collect();
        let steps = [[0.0, 0.0, 0.0], [w[1], -w[0], 0.0], [0.0, w[2], -w[1]], [w[2], 0.0, -w[0]]];
        steps
            .iter()
            .map(|step| foot.iter().zip(step).map(|(x, s)| x + s).collect::<Vec<_>>())
            .collect::<Vec<_>>()
            .into()
    };
    let neurons: Vec<Value> = hidden
        .weight()
        .iter_rows()
        .zip(hidden.bias())
        .map(|(w, b)| json!({"points": points(w, *b)}))
        .collect();
    let file = json!({"format": "fiberscope-boundaries", "version": 1, "inputs": 3, "neurons": neurons});
    fs::write(at.join("points.json"), file.to_string()).unwrap();
    let found = json(at, "--boundaries points.json -o layers.json", 0);
    assert_eq!((found["layer"].as_u64(), found["neurons"].as_array().unwrap().len()), (Some(1), 4));
    let told = json(at, "net.json --signs layers.json -o oriented.json", 0);
    assert_eq!(told["last"], true);
    let read =
        |name: &str| -> Value { serde_json::from_str(&fs::read_to_string(at.join(name)).unwrap()).unwrap() };
    let layer = &read("oriented.json")["layers"][0];
    assert_eq!(layer["oriented"], true);
    for (i, w) in hidden.weight().iter_rows().enumerate() {
        let factor = layer["weight"][i][0].as_f64().unwrap() / w[0];
        assert!(factor > 0.0, "neuron {i} looks the other way");
        assert!((layer["bias"][i].as_f64().unwrap() - factor * hidden.bias()[i]).abs() < 1e-9);
    }
    // A file that is oriented has nothing to ask for; one with two few points leaves rows open.
    fails(at, &["net.json", "--signs", "oriented.json"], &["nothing to orient"]);
    let few = json!({"format": "fiberscope-boundaries", "version": 1, "inputs": 3, "neurons": [{"points": [[1, 2, 3]]}]});
    fs::write(at.join("few.json"), few.to_string()).unwrap();
    let open = json(at, "--boundaries few.json", 3);
    assert_eq!(open["neurons"][0]["status"], "undetermined");
    fs::write(at.join("bad.json"), "{}").unwrap();
    fails(at, &["--boundaries", "bad.json"], &["bad.json", "format"]);
    fails(at, &["--boundaries", "none.json"], &["none.json"]);
    fails(at, &["--boundaries", "points.json", "--tolerance", "2"], &["tolerance"]);
    // Queries run out behind the first layer: it is written beside the output that there is not.
    let deep = construct_deep(at);
    let partial = json(at, &format!("{deep} -o found.json --max-queries 1500"), 3);
    assert_eq!(partial["verdict"], "partial");
    assert_eq!(partial["known"][0]["oriented"], true);
    assert!(
        read("found.json.known.json")["layers"].as_array().unwrap().len()
            == partial["known"].as_array().unwrap().len()
    );
    let first = &partial["known"][0];
    assert!(first["predicted"].as_u64() > Some(0) && first["seen"] == first["predicted"], "{first}");
    assert!(partial["explained"]["explained"].as_u64() < partial["explained"]["kinks"].as_u64());
    // Another run goes on from there, and the file that was given stays.
    let more = json(at, &format!("{deep} -o found.json --known found.json.known.json"), 0);
    assert_eq!((&more["verdict"], &more["known_file"]), (&json!("verified"), &Value::Null));
    assert!(at.join("found.json.known.json").exists());
    fails(at, &["net.json", "-o", "o.json", "--known", "found.json.known.json"], &["expected 3 inputs"]);
    fails(at, &["net.json", "-o", "o.json", "--known", "none.json"], &["none.json"]);
}

/// A network 8-6-5-1 in a file, whose first layer takes some 1,000 queries and the second some thousands.
fn construct_deep(folder: &Path) -> &'static str {
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / 2f64.powi(53) * 2.0 - 1.0
    };
    let mut layer = |rows: usize, cols: usize, activation| {
        let scale = (6.0 / cols as f64).sqrt();
        let weight = Matrix::from_fn(rows, cols, |_, _| scale * next());
        Layer::new(weight, (0..rows).map(|_| 0.5 * next()).collect(), activation)
    };
    let layers =
        vec![layer(6, 8, Activation::Relu), layer(5, 6, Activation::Relu), layer(1, 5, Activation::Identity)];
    save(&Network::new(layers).unwrap(), &folder.join("deep.json"), Precision::F64).unwrap();
    "deep.json"
}
