//! The zoo against its known answers: roles, hidden hyperplanes, and every certificate accepted or
//! refused as stated. `cargo xtask bless` fills in the digests of the certificates.
use std::fs;
use std::path::{Path, PathBuf};

use fiberscope::check::{Checker, Outcome, check};
use fiberscope::core::NetworkName;
use fiberscope::fiber::Identifiability;
use fiberscope::{Certificate, Deadline, Domain, Network, Role};
use fiberscope_io::zoo::{self, ZooCertificate};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fiberscope-io/zoo")
}

fn network(name: &str) -> Network {
    zoo::network(name).unwrap().network
}

fn certificates() -> Vec<ZooCertificate> {
    serde_json::from_slice(&fs::read(folder().join("certificates/index.json")).unwrap()).unwrap()
}

fn names_in(subfolder: &str) -> Vec<String> {
    let files = fs::read_dir(folder().join(subfolder)).unwrap();
    let name = |file: std::io::Result<fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = files.map(name).filter(|name| name != "index.json").collect();
    names.sort();
    names
}

#[test]
fn the_index_is_complete() {
    let entries = zoo::entries();
    let mut listed: Vec<_> = entries.iter().map(|entry| format!("{}.json", entry.name)).collect();
    listed.sort();
    assert_eq!(listed, names_in("networks"));
    let mut listed: Vec<_> = certificates().into_iter().map(|certificate| certificate.file).collect();
    listed.sort();
    assert_eq!(listed, names_in("certificates"));
    for certificate in certificates().iter().filter(|certificate| certificate.is_valid()) {
        let name = certificate.file.strip_suffix(".json").unwrap();
        let text = fs::read_to_string(folder().join("certificates").join(&certificate.file)).unwrap();
        assert_eq!(zoo::certificate(name), Some(text.as_str()), "{name} is not embedded");
    }
}

#[test]
fn roles_and_hidden_neurons_are_as_known() {
    for entry in zoo::entries() {
        let network = network(&entry.name);
        assert_eq!(network.widths(), entry.widths, "{}", entry.name);
        let anatomy = fiberscope::anatomy::examine(&network, &Domain::Space, &Deadline::NEVER);
        let count = |roles: &Vec<Role>, wanted| roles.iter().filter(|&&role| role == wanted).count();
        let roles: Vec<_> = anatomy
            .roles
            .iter()
            .map(|roles| [Role::Dead, Role::Linear, Role::Nonlinear].map(|role| count(roles, role)))
            .collect();
        assert_eq!(roles, entry.roles, "{}", entry.name);
        let hides = anatomy.hidden.iter().find(|neuron| neuron.layer == 0).map(|neuron| neuron.unit + 1);
        assert_eq!(hides, entry.hides, "{}", entry.name);
    }
}

#[test]
fn identifiability_is_as_known() {
    let yes = ["identifiable", "identifiable-nudged", "hiding-two-too-far", "duplicate-merged", "constant"];
    let unknown = ["abs", "deep", "deep-shuffled", "deep-rounded", "linear-network-folded"];
    for entry in zoo::entries() {
        let anatomy = fiberscope::anatomy::examine(&network(&entry.name), &Domain::Space, &Deadline::NEVER);
        let found = match anatomy.identifiability {
            Identifiability::Yes { .. } => "yes",
            Identifiability::No { .. } => "no",
            Identifiability::Unknown { .. } => "unknown",
        };
        let name = entry.name.as_str();
        let expected = match (yes.contains(&name), unknown.contains(&name)) {
            (true, _) => "yes",
            (_, true) => "unknown",
            _ => "no",
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn certificates_are_accepted_or_refused_as_stated() {
    let bless = std::env::var_os("FIBERSCOPE_BLESS").is_some();
    for stated in certificates() {
        let path = folder().join("certificates").join(&stated.file);
        let bytes = fs::read(&path).unwrap();
        let (a, b) = (network(&stated.a), network(&stated.b));
        if let Some(reason) = &stated.unreadable {
            let error = Certificate::from_json(&bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{}: {error}", stated.file);
            let error = Checker::new(&a, &b).check_reader(&bytes[..]).unwrap_err().to_string();
            assert!(error.contains(reason), "{}: {error}", stated.file);
            continue;
        }
        let mut certificate = Certificate::from_json(&bytes).unwrap();
        if bless {
            (certificate.a, certificate.b) = (NetworkName::of(&a), NetworkName::of(&b));
            fs::write(&path, certificate.to_json()).unwrap();
        }
        let outcome = check(&certificate, &a, &b);
        let read = Checker::new(&a, &b).check_reader(certificate.to_json().as_bytes()).unwrap();
        assert_eq!(read.outcome, outcome, "{}: read as a stream", stated.file);
        match (&stated.refused, &outcome) {
            (None, Outcome::Proved(_)) => {}
            (Some(reason), Outcome::Refused(refusal)) => {
                assert!(refusal.to_string().contains(reason), "{}: {refusal}", stated.file);
            }
            _ => panic!("{}: {outcome:?}", stated.file),
        }
    }
}

#[test]
fn a_certificate_is_of_no_use_for_other_networks() {
    for stated in certificates().iter().filter(|stated| stated.is_valid()) {
        let bytes = fs::read(folder().join("certificates").join(&stated.file)).unwrap();
        let certificate = Certificate::from_json(&bytes).unwrap();
        let (a, b) = (network(&stated.a), network(&stated.b));
        for entry in zoo::entries() {
            let other = network(&entry.name);
            if other != a {
                assert!(matches!(check(&certificate, &other, &b), Outcome::Refused(_)), "{}", stated.file);
            }
            if other != b {
                assert!(matches!(check(&certificate, &a, &other), Outcome::Refused(_)), "{}", stated.file);
            }
        }
    }
}
