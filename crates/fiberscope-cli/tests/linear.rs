//! `fiberscope linear` end to end: files in, JSON out.
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Runs the command in a folder; the exit code and the JSON on standard output.
fn run(folder: &Path, line: &str) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    let output = command.args(line.split_whitespace()).arg("--json").current_dir(folder).output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), value)
}

fn write(folder: &Path, name: &str, weights: Value, activation: &str) {
    let last = weights.as_array().unwrap().len() - 1;
    let layer = |(l, weight): (usize, &Value)| {
        let bias = vec![0.0; weight.as_array().unwrap().len()];
        json!({"weight": weight, "bias": bias, "activation": if l == last { "identity" } else { activation }})
    };
    let layers: Vec<Value> = weights.as_array().unwrap().iter().enumerate().map(layer).collect();
    let network = json!({"format": "fiberscope-network", "version": 1, "layers": layers});
    std::fs::write(folder.join(name), network.to_string()).unwrap();
}

#[test]
fn a_network_is_sampled_inspected_moved_and_connected() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (code, sampled) =
        run(at, "linear sample --widths 3,3,3 --rank 1 --stratum 1 --integer -n 2 -o points");
    assert_eq!((code, sampled["files"].as_array().unwrap().len()), (0, 2));

    let (code, seen) =
        run(at, "linear inspect points/point-000.json --exact --bases --spaces --flow flow.svg");
    assert_eq!(code, 0);
    for key in ["r", "omega", "dim", "dof", "rdof", "components"] {
        assert_eq!(seen[key], sampled["stratum"][key], "{key}");
    }
    assert_eq!(seen["exact_agrees"], true);
    assert_eq!(seen["tangent"][0].as_array().unwrap().len() as u64, seen["dim"].as_u64().unwrap());
    assert_eq!(seen["flow_bases"].as_array().unwrap().len(), 3);
    assert!(std::fs::read_to_string(at.join("flow.svg")).unwrap().contains("<svg"));

    let up = &seen["up"][0]["bars"];
    let bars = format!("{}-{},{}-{}", up[0][0], up[0][1], up[1][0], up[1][1]);
    let (code, moved) = run(at, &format!("linear move points/point-000.json --up {bars} -o up.json"));
    assert_eq!((code, &moved["numerical"]), (0, &moved["to"]));
    assert!(moved["max_difference"].as_f64().unwrap() < 1e-9);

    let (code, apart) = run(at, "linear path points/point-000.json up.json");
    assert_eq!((code, &apart["connected"]), (1, &json!(false)));
    let (code, joined) =
        run(at, "linear path points/point-000.json up.json --through-minimum --steps 6 -o path");
    assert_eq!((code, joined["files"].as_array().unwrap().len()), (0, 7));
    assert!(joined["max_difference"].as_f64().unwrap() < 1e-9);
    let (code, canonical) = run(at, "linear path points/point-000.json -o canonical");
    assert_eq!((code, &canonical["connected"]), (0, &json!(true)));

    let (code, walked) = run(at, "linear walk points/point-000.json --length 2 --steps 4 -o walk");
    assert_eq!((code, walked["files"].as_array().unwrap().len()), (0, 5));
    assert_eq!((&walked["numerical"], &walked["omega"]), (&seen["omega"], &seen["omega"]));
    assert!(walked["max_difference"].as_f64().unwrap() < 1e-9);
    assert_eq!(run(at, "linear walk points/point-000.json --velocity up.json").0, 2, "no tangent");
    assert_eq!(run(at, "linear walk points/point-000.json --velocity up.json --project").0, 0);

    let (code, over) = run(at, "linear sample --widths 3,3,3 --rank 1 --product up.json -n 3 -o over");
    assert_eq!(code, 0);
    assert!(over["max_difference"].as_f64().unwrap() < 1e-9);
    let (code, different) = run(at, "linear path points/point-000.json points/point-001.json");
    assert_eq!(code, 1, "{different}");
}

/// A file without activations is linear if its user says so.
#[test]
fn a_file_of_weights_is_stated_to_be_linear() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "net.json", json!([[[1, 0], [0, 2]], [[1, 1], [0, 0]]]), "identity");
    let (code, _) = run(at, "convert net.json net.npz");
    assert_eq!(code, 0);
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/tests/data/npz/f64.npz"),
        at.join("bare.npz"),
    )
    .unwrap();
    let mut refused = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    let refused = refused.args(["linear", "inspect", "bare.npz"]).current_dir(at).output().unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("bare.npz (it holds no activations; --activation identity says"), "{error}");
    for question in ["inspect bare.npz", "move bare.npz", "path bare.npz -o path", "walk bare.npz -o walk"] {
        let (code, value) = run(at, &format!("linear {question} --activation identity"));
        assert_eq!((code, &value["assumed_activation"]), (0, &json!("identity")), "{question}: {value}");
    }
    // This file says it by itself.
    let (code, value) = run(at, "linear inspect net.npz");
    assert_eq!((code, value.get("assumed_activation")), (0, None), "{value}");
}

#[test]
fn the_sheets_of_the_hyperbola_are_not_connected() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "a.json", json!([[[1.0]], [[1.0]], [[1.0]]]), "identity");
    write(at, "b.json", json!([[[-1.0]], [[-1.0]], [[1.0]]]), "identity");
    write(at, "c.json", json!([[[2.0]], [[0.25]], [[2.0]]]), "identity");
    for through in ["", " --through-minimum"] {
        let (code, apart) = run(at, &format!("linear path a.json b.json{through}"));
        assert_eq!(code, 1);
        assert!(apart["reason"].as_str().unwrap().contains("components"), "{apart}");
    }
    assert_eq!(run(at, "linear path a.json c.json").0, 0);
}

#[test]
fn dags_are_exported_and_agree() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = "linear strata --widths 2,2,2,2 --export dag.json --export dag.dot --export dag.svg";
    let (code, shown) = run(at, line);
    assert_eq!(code, 0);
    let read = |name: &str| std::fs::read_to_string(at.join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("dag.json")).unwrap(), shown);
    assert_eq!(
        (shown["strata"].as_array().unwrap().len(), shown["edges"].as_array().unwrap().len()),
        (27, 49)
    );
    assert_eq!((shown["n_moves"].as_u64(), shown["fiber_dim"].as_u64()), (Some(63), Some(9)));
    assert_eq!(read("dag.dot").matches(" -> ").count(), 49);
    assert_eq!(read("dag.svg").matches("cover-tip\"").count(), 49);
}

#[test]
fn the_active_block_of_a_relu_network_is_inspected_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let network = json!({"format": "fiberscope-network", "version": 1, "layers": [
        {"weight": [[1.0, 0.5], [0.5, 1.0], [1.5, 1.5], [1.0, -1.0]], "bias": [3.0, 3.0, 4.0, 0.0], "activation": "relu"},
        {"weight": [[1.0, 1.0, 1.0, 1.0]], "bias": [0.0], "activation": "identity"}]});
    std::fs::write(at.join("net.json"), network.to_string()).unwrap();
    assert_eq!(run(at, "linear inspect net.json").0, 2);
    let (code, block) = run(at, "linear inspect net.json --block 1 --box -1,1 --compress small.json");
    assert_eq!((code, &block["block"]["active"]), (0, &json!([1, 2, 3])));
    assert_eq!((&block["rank"], &block["widths"]), (&json!(1), &json!([2, 3, 1])));
    let small: Value =
        serde_json::from_str(&std::fs::read_to_string(at.join("small.json")).unwrap()).unwrap();
    assert_eq!(small["layers"][0]["bias"].as_array().unwrap().len(), 2);
}

#[test]
fn subspaces_are_listed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The first input is lost by the second matrix, the second one at once; the output is fed by nothing.
    write(at, "net.json", json!([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0]]]), "identity");
    let (code, seen) = run(at, "linear inspect net.json --subspaces --flow flow.tex --lattice lattice.svg");
    assert_eq!(code, 0);
    let find = |family: &str, k: u64, j: u64, i: u64| {
        let all = seen["subspaces"][family].as_array().unwrap();
        all.iter().find(|one| one["k"] == k && one["j"] == j && one["i"] == i).unwrap().clone()
    };
    // A_000 = null W_1 is the second axis, A_100 = R^2; A_110 = col W_1, A_111 = null W_2 is the first axis.
    for (k, j, i, dim) in [(0, 0, 0, 1), (1, 0, 0, 2), (1, 1, 0, 1), (1, 1, 1, 1), (2, 1, 1, 2), (2, 2, 0, 0)]
    {
        assert_eq!(find("A", k, j, i)["dim"], dim, "A_{k}{j}{i}");
    }
    let basis = find("A", 0, 0, 0)["basis"].clone();
    assert!(basis[0][0].as_f64().unwrap().abs() < 1e-12 && basis[1][0].as_f64().unwrap().abs() > 0.99);
    // B_211 = row W_2 ∩ null W_1^T is the second axis of the middle layer.
    let b = find("B", 2, 1, 1);
    assert_eq!((&b["dim"], &b["prebasis_dim"]), (&json!(1), &json!(1)));
    assert!(b["standard_prebasis"][0][0].as_f64().unwrap().abs() < 1e-12);
    assert!(seen["subspaces"]["lemma_1"]["largest_sine"].as_f64().unwrap() < 1e-12);
    let read = |name: &str| std::fs::read_to_string(at.join(name)).unwrap();
    assert!(read("flow.tex").contains("\\begin{tikzpicture}") && read("lattice.svg").contains("<svg"));
    assert_eq!(run(at, "linear strata --widths 2,2,2,2 --export dag.tex").0, 0);
    assert_eq!(read("dag.tex").matches("->] (s").count(), 49);
    assert_eq!(run(at, "linear inspect net.json --flow flow.doc").0, 2);
}
