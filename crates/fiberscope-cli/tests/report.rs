//! `report` and `tour`: what the pages carry proves what they say.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Digest, Network};
use fiberscope_io::json;

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_fiberscope")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The blocks of JSON in a page.
fn blocks(html: &str) -> Vec<&str> {
    let parts = html.split("<script type=\"application/json\" id=\"").skip(1);
    parts.map(|part| part.split_once('>').unwrap().1.split_once("</script>").unwrap().0).collect()
}

/// The networks by digest, and the certificates.
fn contents(html: &str) -> (BTreeMap<String, Network>, Vec<Certificate>) {
    let (mut networks, mut certificates) = (BTreeMap::new(), Vec::new());
    for block in blocks(html) {
        let value: serde_json::Value = serde_json::from_str(block).unwrap();
        match value["format"].as_str() {
            Some("fiberscope-network") => {
                let network = json::read(block.as_bytes(), &Default::default()).unwrap().network;
                networks.insert(Digest::of(&network).to_string(), network);
            }
            Some("fiberscope-certificate") => {
                certificates.push(Certificate::from_json(block.as_bytes()).unwrap());
            }
            _ => {}
        }
    }
    (networks, certificates)
}

/// Every certificate of the page is accepted for the networks of the page; how many there are.
fn proved(html: &str) -> usize {
    let (networks, certificates) = contents(html);
    for certificate in &certificates {
        let [a, b] = [&certificate.a, &certificate.b].map(|name| &networks[&name.sha256.to_string()]);
        assert_eq!(check(certificate, a, b), Outcome::Proved(certificate.claim()));
    }
    certificates.len()
}

#[test]
fn a_page_carries_its_proofs() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, least) in [
        (&["zoo:hiding-two"][..], 2),
        (&["zoo:hiding-two", "zoo:hiding-two-too-far"], 3),
        (&["zoo:cancelling", "zoo:cancelling-reduced"], 3),
        (&["zoo:constant", "--box", "0,1"], 1),
        (&["zoo:linear-network"], 1),
        (&["zoo:tent"], 1),
    ] {
        let line = [&["report"], arguments, &["-o", "page.html"]].concat();
        let (code, out, error) = run(folder.path(), &line);
        assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
        assert!(out.ends_with("wrote page.html: open it in a browser\n"), "{out}");
        let html = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(proved(&html) >= least, "{arguments:?}: {}", proved(&html));
        for part in ["Symmetries and fiber", "Linear regions", "Rests on:", "identifiab"] {
            assert!(html.contains(part), "{arguments:?}: {part}");
        }
        assert!(!html.contains(" src=") && !html.contains("<link"), "{arguments:?}");
    }
}

#[test]
fn the_dimension_on_data_is_that_of_funcdim() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..30).map(|i| format!("{},{}\n", i % 7 - 3, i % 5 - 2)).collect();
    fs::write(folder.path().join("data.csv"), rows).unwrap();
    let (_, out, _) = run(folder.path(), &["funcdim", "zoo:deep", "data.csv", "--json"]);
    let rank = serde_json::from_str::<serde_json::Value>(&out).unwrap()["rank"].clone();
    let (code, out, error) = run(folder.path(), &["report", "zoo:deep", "--data", "data.csv", "--json"]);
    assert_eq!(code, 0, "{error}");
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let claim = value["claims"].as_array().unwrap().iter().find(|c| c["claim"] == "functional_dimension");
    assert_eq!(claim.unwrap()["rank"], rank);
    assert!(fs::read_to_string(folder.path().join("report.html")).unwrap().contains("Functional dimension"));
}

#[test]
fn equal_seeds_give_equal_pages() {
    let folder = tempfile::tempdir().unwrap();
    let page = |threads: &str, name: &str| {
        let line =
            ["report", "zoo:deep", "zoo:deep-shuffled", "--seed", "5", "--threads", threads, "-o", name];
        assert_eq!(run(folder.path(), &line).0, 0);
        fs::read(folder.path().join(name)).unwrap()
    };
    assert!(page("1", "a.html") == page("3", "b.html"));
}

#[test]
fn the_tour_carries_its_proofs() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["tour"]).0, 0);
    assert_eq!(proved(&fs::read_to_string(folder.path().join("report.html")).unwrap()), 5);
}

#[test]
fn bad_input_leaves_no_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.csv"), "1,2,3\n").unwrap();
    for (arguments, expected) in [
        (&["report", "none.onnx"][..], "none.onnx"),
        (&["report", "zoo:deep", "zoo:tent"], "the networks have 2 and 1 inputs"),
        (&["report", "zoo:deep", "--data", "data.csv"], "expected 2 columns"),
        (&["report", "zoo:deep", "--data", "none.csv"], "none.csv"),
        (&["report", "zoo:deep", "--box", "1,-1"], "1"),
        (&["report", "zoo:deep", "-o", "nowhere/report.html"], "there is no folder nowhere"),
        (&["explore", "none.onnx"], "none.onnx"),
        (&["explore", "zoo:nothing"], "nothing"),
        (&["explore", "zoo:deep", "-o", "x.html", "--port", "80"], "cannot be used with"),
        (&["explore", "--address", "somewhere"], "somewhere"),
    ] {
        let (code, out, error) = run(folder.path(), arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{arguments:?}");
    }
}
