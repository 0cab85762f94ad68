//! Workers that are killed.

use std::time::{Duration, Instant};

use super::{alone, merge, network, object, plan, run, text, worker};

/// Counts with workers that are killed with signal 9 again and again: the merged answer is that of the direct command, and that of one
/// worker with one thread, byte by byte.
#[test]
fn a_storm_of_kills_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let model = network(place.path(), 1);
    let question = ["regions", &model, "--box", "-1,1", "--count-only"];
    let expected = alone(&plan(place.path(), "alone", &question, "9"));
    let direct = run(&["regions", &model, "--box", "-1,1", "--count-only", "--json"]);
    assert_eq!(object(&direct), expected.0);
    let folder = plan(place.path(), "storm", &question, "40");
    let mut workers: Vec<_> = (0..3).map(|_| worker(&folder, "0.02")).collect();
    let begin = Instant::now();
    let mut kills = 0;
    while begin.elapsed() < Duration::from_secs(5) && object(&merge(&folder)).get("regions").is_none() {
        std::thread::sleep(Duration::from_millis(37 * (1 + kills % 5)));
        let mut victim = workers.remove(0);
        victim.kill().unwrap();
        victim.wait().unwrap();
        kills += 1;
        workers.push(worker(&folder, "0.02"));
    }
    assert!(kills > 0);
    let last = run(&["work", folder.to_str().unwrap(), "--threads", "1", "--quiet"]);
    assert_eq!(last.status.code(), Some(0), "{}", text(&last.stderr));
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    let merged = merge(&folder);
    assert_eq!((object(&merged), merged.status.code()), expected);
}

#[test]
fn several_workers_give_what_one_gives() {
    let place = tempfile::tempdir().unwrap();
    let (a, b) = (network(place.path(), 2), network(place.path(), 2).replace("net-2", "other"));
    let moved = std::fs::read_to_string(&a).unwrap().replacen("0.", "0.0", 3);
    std::fs::write(&b, moved).unwrap();
    let data = place.path().join("points.csv");
    std::fs::write(&data, "0.1,0.2,0.3\n-0.4,0.5,0.1\n0.9,-0.2,0.7\n").unwrap();
    let data = data.to_str().unwrap();
    for (name, question) in [
        ("diff", vec!["diff", &a, &b, "--box", "-1,1", "--gap", "0.2"]),
        ("within", vec!["diff", &a, &b, "--box", "-1,1", "--epsilon", "100"]),
        ("equiv", vec!["equiv", "zoo:identifiable", "zoo:identifiable", "--method", "regions"]),
        ("funcdim", vec!["funcdim", &a, &b, "--data", data]),
        (
            "train",
            vec![
                "train", "--task", "f1", "--widths", "1,4,1", "--epochs", "4", "--every", "2", "--seeds", "3",
            ],
        ),
        ("volume", vec!["volume", "--widths", "3,3,2,1", "--samples", "300000"]),
    ] {
        let expected = alone(&plan(place.path(), &format!("{name}-one"), &question, "3"));
        let folder = plan(place.path(), name, &question, "12");
        let workers: Vec<_> = (0..3).map(|_| worker(&folder, "0.01")).collect();
        for mut worker in workers {
            assert!(worker.wait().unwrap().success(), "{name}");
        }
        let merged = merge(&folder);
        let mut found = (object(&merged), merged.status.code());
        // Trainings are written into the folder of the plan.
        if name == "train" {
            let files = |value: &mut serde_json::Value| value.as_object_mut().unwrap().remove("files");
            let mut expected = expected.clone();
            files(&mut expected.0);
            files(&mut found.0);
            assert_eq!(found, expected, "{name}");
            assert!(folder.join("answer/trajectory.csv").is_file());
            continue;
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// One task at a time, as the array of a batch system does it.
#[test]
fn single_tasks_add_up() {
    let place = tempfile::tempdir().unwrap();
    let model = network(place.path(), 3);
    let folder = plan(place.path(), "array", &["regions", &model, "--box", "-1,1"], "4");
    let name = folder.to_str().unwrap();
    let missing = merge(&folder);
    assert_eq!(missing.status.code(), Some(3));
    let tasks = object(&missing)["missing"].as_u64().unwrap();
    for number in 1..=tasks {
        // Twice: the second time nothing is to be done.
        for _ in 0..2 {
            let done = run(&["work", name, "--task", &number.to_string()]);
            assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        }
    }
    let wrong = run(&["work", name, "--task", &(tasks + 1).to_string()]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains(&format!("the plan has tasks 1 to {tasks}")),
        "{}",
        text(&wrong.stderr)
    );
    let direct = run(&["regions", &model, "--box", "-1,1", "--json"]);
    assert_eq!(object(&merge(&folder)), object(&direct));
}
