//! Folders that are not what they should be: clear errors, and never a wrong merge.

use std::fs;
use std::path::{Path, PathBuf};

use super::{alone, merge, network, object, plan, run, text};

/// A folder whose tasks are done, and its answer.
fn done(place: &Path, seed: u64, name: &str) -> (PathBuf, serde_json::Value) {
    let model = network(place, seed);
    let folder = plan(place, name, &["regions", &model, "--box", "-1,1", "--count-only"], "4");
    let (value, _) = alone(&folder);
    (folder, value)
}

fn results(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder.join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
        .collect();
    files.sort();
    files
}

/// The task of a spoiled result is missing, says so, and is done again.
fn heals(folder: &Path, expected: &serde_json::Value, what: &str, word: &str) {
    let spoiled = merge(folder);
    assert_eq!(spoiled.status.code(), Some(3), "{what}: {}", text(&spoiled.stdout));
    assert!(text(&spoiled.stderr).contains(word), "{what}: {}", text(&spoiled.stderr));
    assert_eq!(alone(folder).0, *expected, "{what}");
}

#[test]
fn spoiled_results_are_done_again() {
    let place = tempfile::tempdir().unwrap();
    let (folder, expected) = done(place.path(), 1, "one");
    let (other, _) = done(place.path(), 2, "other");
    let files = results(&folder);
    assert!(files.len() >= 4);
    let whole = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &whole[..whole.len() - 9]).unwrap();
    heals(&folder, &expected, "cut off", "damaged");
    fs::write(&files[0], &whole[..40]).unwrap();
    heals(&folder, &expected, "cut off early", "no line that says what it is");
    fs::write(&files[0], "").unwrap();
    heals(&folder, &expected, "empty", "an empty file");
    fs::write(&files[0], "what is this\n").unwrap();
    heals(&folder, &expected, "nonsense", "no line that says what it is");
    fs::copy(&results(&other)[0], &files[0]).unwrap();
    heals(&folder, &expected, "of another plan", "it is the result of task");
    fs::copy(&files[1], &files[0]).unwrap();
    heals(&folder, &expected, "of another task", "it is the result of task");
    let changed =
        String::from_utf8(fs::read(&files[0]).unwrap()).unwrap().replacen("\"all\":[", "\"all\":[1", 1);
    fs::write(&files[0], changed).unwrap();
    heals(&folder, &expected, "changed", "damaged");
    let newer = String::from_utf8(fs::read(&files[0]).unwrap()).unwrap();
    let program = format!("\"program\":\"{}\"", env!("CARGO_PKG_VERSION"));
    fs::write(&files[0], newer.replacen(&program, "\"program\":\"99.0.0\"", 1)).unwrap();
    heals(&folder, &expected, "of another version", "written by fiberscope 99.0.0");
    fs::remove_file(&files[0]).unwrap();
    assert_eq!(alone(&folder).0, expected);
    // A file that nobody asked for changes nothing.
    fs::write(folder.join("results/README"), "hello").unwrap();
    let merged = merge(&folder);
    assert_eq!(object(&merged), expected);
    assert!(text(&merged.stderr).contains("README"), "{}", text(&merged.stderr));
}

#[test]
fn what_is_no_plan_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let (folder, _) = done(place.path(), 1, "one");
    let refused = |arguments: &[&str], word: &str| {
        let found = run(arguments);
        assert_eq!(found.status.code(), Some(2), "{arguments:?}: {}", text(&found.stdout));
        assert!(text(&found.stderr).contains(word), "{arguments:?}: {}", text(&found.stderr));
    };
    let name = folder.to_str().unwrap();
    let model = network(place.path(), 1);
    refused(&["plan", "regions", &model, "--box", "-1,1", "-o", name], "expected an empty folder");
    refused(&["plan", "regions", &model, "--box", "-1,1"], "expected -o DIR");
    refused(&["plan", "regions", &model, "--plot", "a.svg", "-o", "x"], "for fiberscope regions");
    refused(&["plan", "diff", &model, &model, "-o", "x"], "a box of inputs is needed");
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for command in ["work", "merge"] {
        refused(&[command, empty.to_str().unwrap()], "that `fiberscope plan` made");
        refused(&[command, "/nowhere/at/all"], "that `fiberscope plan` made");
    }
    let plan = fs::read(folder.join("plan")).unwrap();
    fs::write(folder.join("plan"), &plan[..plan.len() - 30]).unwrap();
    for command in ["work", "merge"] {
        refused(&[command, name], "damaged");
    }
    let other = String::from_utf8(plan).unwrap().replacen("\"version\":1", "\"version\":7", 1);
    fs::write(folder.join("plan"), other).unwrap();
    for command in ["work", "merge"] {
        refused(&[command, name], "version 7");
    }
}

/// A disk without room: an error, the task is free again, and nothing is lost.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let model = network(place.path(), 4);
    let folder = plan(place.path(), "one", &["regions", &model, "--box", "-1,1", "--count-only"], "3");
    let results = folder.join("results");
    fs::remove_dir(&results).unwrap();
    // A file where the folder should be fails for every user.
    fs::write(&results, "").unwrap();
    let failed = run(&["work", folder.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stdout));
    fs::remove_file(&results).unwrap();
    fs::create_dir(&results).unwrap();
    fs::set_permissions(&results, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(alone(&folder).0["regions"].as_u64().unwrap() > 100);
    assert_eq!(fs::read_dir(folder.join("leases")).unwrap().count(), 0);
}

/// Leases whose workers are gone are taken over at once; what a foreign machine holds is waited for.
#[test]
fn leases_are_taken_over() {
    let place = tempfile::tempdir().unwrap();
    let model = network(place.path(), 5);
    let folder = plan(place.path(), "one", &["regions", &model, "--box", "-1,1", "--count-only"], "3");
    let tasks: Vec<PathBuf> =
        fs::read_dir(folder.join("tasks")).unwrap().map(|entry| entry.unwrap().path()).collect();
    for task in tasks.iter().filter(|path| !path.ends_with("turn")) {
        let name = task.file_name().unwrap().to_str().unwrap();
        fs::rename(task, folder.join("leases").join(format!("{name}@elsewhere@1@2@3"))).unwrap();
    }
    let name = folder.to_str().unwrap();
    let waited = run(&["work", name, "--time-limit", "0.5", "--quiet"]);
    assert_eq!(waited.status.code(), Some(3), "{}", text(&waited.stdout));
    let taken = run(&["work", name, "--lease", "0.3", "--quiet"]);
    assert_eq!(taken.status.code(), Some(0), "{}", text(&taken.stderr));
    assert_eq!(merge(&folder).status.code(), Some(0));
}

#[test]
fn plans_keep_the_box_around_a_row() {
    let place = tempfile::tempdir().unwrap();
    let model = network(place.path(), 3);
    let table = place.path().join("rows.csv");
    fs::write(&table, "0,0,0\n0.25,-0.5,0.125\n").unwrap();
    let around = format!("{}:2", table.display());
    let regions = |domain: &[&str], name: &str| {
        let question = [&["regions", model.as_str(), "--count-only"], domain].concat();
        alone(&plan(place.path(), name, &question, "3")).0["regions"].clone()
    };
    let boxed = place.path().join("box.csv");
    fs::write(&boxed, "0,0.5\n-0.75,-0.25\n-0.125,0.375\n").unwrap();
    let near = regions(&["--around", &around, "--radius", "0.25"], "around");
    assert_eq!(near, regions(&["--box", boxed.to_str().unwrap()], "box"));
    assert_ne!(near, regions(&["--box", "-1,1"], "wide"));
    let question = ["equiv", &model, &model, "--around", &around, "--radius", "0.25"];
    let (answer, _) = alone(&plan(place.path(), "equiv", &question, "2"));
    assert_eq!(answer["domain"]["box"][0], serde_json::json!(["0", "1/2"]), "{answer}");
}

/// What an answer owes to the reading of its files is said by the merge, on a machine without the files.
#[test]
fn plans_remember_how_files_were_read() {
    let place = tempfile::tempdir().unwrap();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/tests/data/");
    let headed = format!("{data}onnx/graphs/softmax.onnx");
    let (answer, _) =
        alone(&plan(place.path(), "headed", &["regions", &headed, "--count-only", "--box", "0,1"], "2"));
    assert_eq!(
        answer["set_aside"],
        serde_json::json!({&headed: ["node `/3/Softmax` (Softmax)"]}),
        "{answer}"
    );
    assert!(answer.get("assumed_activation").is_none(), "{answer}");
    let bare = format!("{data}npz/f64.npz");
    let folder = plan(place.path(), "bare", &["equiv", &bare, &bare], "2");
    let (answer, _) = alone(&folder);
    assert_eq!((&answer["assumed_activation"], answer.get("set_aside")), (&"relu".into(), None), "{answer}");
    let told = text(&run(&["merge", folder.to_str().unwrap()]).stdout);
    assert!(told.contains("activations assumed: ReLU"), "{told}");
}

#[test]
fn surveys_in_tasks_are_those_in_one_piece() {
    let place = tempfile::tempdir().unwrap();
    let question =
        ["--widths", "2,2,1", "--widths", "2,3,2,1", "--count", "70", "--measure", "identifiable,regions"];
    let (mut apart, code) = alone(&plan(place.path(), "tasks", &[&["survey"], &question[..]].concat(), "5"));
    let folder = place.path().join("whole");
    let whole = run(&[&["survey", "--json", "-o", folder.to_str().unwrap()], &question[..]].concat());
    let mut whole_value = object(&whole);
    assert_eq!((code, whole.status.code()), (Some(0), Some(0)));
    for value in [&mut apart, &mut whole_value] {
        value.as_object_mut().unwrap().remove("files");
    }
    assert_eq!(apart, whole_value);
    let table = |folder: &Path| fs::read(folder.join("survey.csv")).unwrap();
    assert_eq!(table(&place.path().join("tasks/answer")), table(&folder));
}
