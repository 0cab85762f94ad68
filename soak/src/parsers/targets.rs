//! The readers, what they may hold in memory, and the laws for what they accept.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::Duration;

use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, SearchState, search};
use fiberscope::equivalence::{EquivalenceOptions, decide};
use fiberscope::limit::Deadline;
use fiberscope_check::check;
use fiberscope_core::{Certificate, Domain, Network, NetworkName, Rational, SignVector};
use fiberscope_io::{
    Data, FormatError, Model, Normalization, Precision, ReadOptions, csv, domain, json, nnet, npz, onnx, pt,
    safetensors, zoo,
};

use super::structure::Shape;
use super::words::{ARRAYS, GRAPH, JSON, PICKLE, PROOF, TABLE, VNNLIB};
use crate::generate::{Maker, case};

/// What came of a reading.
pub enum Reading {
    /// It was accepted; a number for what kind of thing it is.
    Accepted(u64),
    /// It was refused; a number for the kind of refusal.
    Refused(u64),
    /// It was accepted, and a law does not hold.
    Broken(String),
}

/// A reader under mutation.
pub struct Target {
    /// Its name in the report and the folder of its corpus.
    pub name: &'static str,
    /// The most heap memory that reading may hold, in bytes per byte of the input, beside [`BASE`].
    pub per_byte: usize,
    /// How the format wraps its contents.
    pub shape: Shape,
    /// Words that its files have.
    pub words: &'static [&'static [u8]],
    /// Reads; the laws are looked at if that is wanted.
    pub read: fn(&[u8], bool) -> Reading,
}

/// What a reader may hold however short its input is: messages, and the matrices that `MAX_DENSE_ENTRIES`
/// allows.
pub const BASE: usize = (64 << 10) + 8 * MAX_DENSE_ENTRIES;
const MAX_DENSE_ENTRIES: usize = 1 << 12;

/// All readers.
pub const TARGETS: &[Target] = &[
    Target { name: "csv", per_byte: 16, shape: Shape::Text, words: TABLE, read: |b, _| data(csv::read(b)) },
    Target { name: "domain", per_byte: 12, shape: Shape::Text, words: VNNLIB, read: boxes },
    Target {
        name: "json",
        per_byte: 12,
        shape: Shape::Text,
        words: JSON,
        read: |b, laws| model(json::read, b, laws),
    },
    Target {
        name: "nnet",
        per_byte: 30,
        shape: Shape::Text,
        words: TABLE,
        read: |b, laws| model(nnet::read, b, laws),
    },
    Target {
        name: "npy",
        per_byte: 16,
        shape: Shape::Plain,
        words: ARRAYS,
        read: |b, _| data(npz::read_npy_data(b)),
    },
    Target {
        name: "npz",
        per_byte: 64,
        shape: Shape::Zip,
        words: ARRAYS,
        read: |b, laws| model(npz::read, b, laws),
    },
    Target {
        name: "npz-data",
        per_byte: 64,
        shape: Shape::Zip,
        words: ARRAYS,
        read: |b, _| data(npz::read_npz_data(b)),
    },
    Target {
        name: "onnx",
        per_byte: 64,
        shape: Shape::Fields,
        words: GRAPH,
        read: |b, laws| model(onnx::read, b, laws),
    },
    Target {
        name: "pt",
        per_byte: 64,
        shape: Shape::Zip,
        words: PICKLE,
        read: |b, laws| model(pt::read, b, laws),
    },
    Target {
        name: "safetensors",
        per_byte: 64,
        shape: Shape::Header,
        words: ARRAYS,
        read: |b, laws| model(safetensors::read, b, laws),
    },
    Target { name: "certificate", per_byte: 128, shape: Shape::Text, words: PROOF, read: certificate },
    Target { name: "search-state", per_byte: 128, shape: Shape::Text, words: PROOF, read: state },
    Target { name: "number", per_byte: 64, shape: Shape::Text, words: &[b"/", b"-"], read: number },
];

/// A number for the kind of a message: its words without numbers and names.
fn kind(message: &impl Display) -> u64 {
    let text = message.to_string();
    let mut hasher = DefaultHasher::new();
    let plain = text.split(['"', '`']).step_by(2).flat_map(str::split_ascii_whitespace);
    plain
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        .take(8)
        .for_each(|word| word.hash(&mut hasher));
    hasher.finish() >> 40
}

fn refused(error: &impl Display) -> Reading {
    Reading::Refused(kind(error))
}

fn data(read: Result<Data, FormatError>) -> Reading {
    match read {
        Ok(data) => {
            let (rows, cols) = (data.points.rows(), data.points.cols());
            Reading::Accepted((rows.min(4) * 8 + cols.min(4)) as u64 * 2 + u64::from(data.columns.is_some()))
        }
        Err(error) => refused(&error),
    }
}

fn boxes(bytes: &[u8], laws: bool) -> Reading {
    // The corpora have boxes of one, two and five inputs.
    for inputs in [5, 2, 1] {
        match domain::read(bytes, inputs) {
            Ok(found) => {
                let fine = found.bounds.len() == inputs
                    && found.bounds.iter().all(|(lo, hi)| lo <= hi && hi - lo >= 0.0);
                return if laws && !fine {
                    Reading::Broken(format!("a box that is none: {found:?}"))
                } else {
                    Reading::Accepted(inputs as u64)
                };
            }
            Err(error) if inputs == 1 => return refused(&error),
            Err(_) => {}
        }
    }
    Reading::Refused(0)
}

type Read = fn(&[u8], &ReadOptions) -> Result<Model, FormatError>;

fn model(read: Read, bytes: &[u8], laws: bool) -> Reading {
    let options = ReadOptions { max_dense_entries: MAX_DENSE_ENTRIES, ..ReadOptions::default() };
    match read(bytes, &options) {
        Ok(model) => {
            if laws && model.network.parameter_count() < 2000 {
                if let Err(broken) = rereads(&model.network, &options) {
                    return Reading::Broken(broken);
                }
                let ignoring = ReadOptions { normalization: Normalization::Ignore, ..options };
                drop(read(bytes, &ignoring));
            }
            let mut hasher = DefaultHasher::new();
            (model.network.depth().min(6), model.notes.len(), model.precision.name()).hash(&mut hasher);
            Reading::Accepted(hasher.finish() >> 40)
        }
        Err(error) => refused(&error),
    }
}

/// What is accepted is a network: it survives being written and read again, bit by bit.
fn rereads(network: &Network, options: &ReadOptions) -> Result<(), String> {
    let bits = |network: &Network| -> Vec<u64> {
        let numbers = network.layers().iter().flat_map(|l| l.weight().entries().iter().chain(l.bias()));
        numbers.map(|x| x.to_bits()).collect()
    };
    type Write = fn(&Network, &mut Vec<u8>) -> std::io::Result<()>;
    let forms: [(&str, Write, Read); 4] = [
        ("json", |n, out| json::write(n, out), json::read),
        ("npz", |n, out| npz::write(n, Precision::F64, out), npz::read),
        ("safetensors", |n, out| safetensors::write(n, Precision::F64, out), safetensors::read),
        ("onnx", |n, out| onnx::write(n, Precision::F64, out), onnx::read),
    ];
    for (name, write, read) in forms {
        let mut written = Vec::new();
        write(network, &mut written).map_err(|error| format!("{name} cannot be written: {error}"))?;
        let again =
            read(&written, options).map_err(|error| format!("{name} cannot be read again: {error}"))?;
        if again.network.widths() != network.widths() || bits(&again.network) != bits(network) {
            return Err(format!("{name} does not keep the network"));
        }
    }
    Ok(())
}

fn certificate(bytes: &[u8], laws: bool) -> Reading {
    let mut found = match Certificate::from_json(bytes) {
        Ok(found) => found,
        Err(error) => return refused(&error),
    };
    let kind = kind(&format!("{:?}", found.evidence).split_once(' ').map_or("", |(kind, _)| kind).to_owned());
    if laws {
        let text = found.to_json();
        if Certificate::from_json(text.as_bytes()).ok().as_ref() != Some(&found) {
            return Reading::Broken("the certificate does not survive being written and read".into());
        }
        for network in zoo_networks() {
            (found.a, found.b) = (NetworkName::of(network), NetworkName::of(network));
            let _ = check(&found, network, network);
        }
    }
    Reading::Accepted(kind)
}

fn zoo_networks() -> &'static [Network] {
    static NETWORKS: OnceLock<Vec<Network>> = OnceLock::new();
    let load = |name: &&str| zoo::network(name).map(|model| model.network).ok();
    NETWORKS.get_or_init(|| ["deep", "hiding-two", "cancelling", "abs"].iter().filter_map(load).collect())
}

/// Two networks whose comparison takes a search, and what interrupted searches left.
struct Search {
    a: Network,
    b: Network,
    states: Vec<SearchState>,
}

fn searched() -> &'static Option<Search> {
    static SEARCH: OnceLock<Option<Search>> = OnceLock::new();
    SEARCH.get_or_init(|| {
        (0..4000).find_map(|number| {
            let case = case(&mut Maker::new(7, number)).filter(|case| case.class == "compiled twice")?;
            let (a, b) = &case.networks;
            let states: Vec<SearchState> =
                [1, 3, 9].into_iter().filter_map(|leaves| unfinished(a, b, leaves)).collect();
            (states.len() == 3).then(|| Search { a: a.clone(), b: b.clone(), states })
        })
    })
}

fn unfinished(a: &Network, b: &Network, leaves: u64) -> Option<SearchState> {
    let limits = SearchLimits { leaves: Some(leaves), ..SearchLimits::default() };
    match search(&a.to_exact(), &b.to_exact(), &Domain::Space, &limits, &|_| ()) {
        Ok(SearchOutcome::Undecided { state, .. }) => Some(state),
        _ => None,
    }
}

/// States of searches to start from.
pub fn states() -> Vec<Vec<u8>> {
    searched().iter().flat_map(|search| &search.states).map(|state| state.to_json().into_bytes()).collect()
}

fn state(bytes: &[u8], laws: bool) -> Reading {
    let found = match SearchState::from_json(bytes) {
        Ok(found) => found,
        Err(error) => return refused(&error),
    };
    if laws {
        if SearchState::from_json(found.to_json().as_bytes()).ok().as_ref() != Some(&found) {
            return Reading::Broken("the state does not survive being written and read".into());
        }
        if let Some(search) = searched() {
            let deadline = Deadline::after(Some(Duration::from_millis(5)));
            let resumed = (search.a.to_exact(), search.b.to_exact());
            let limits = SearchLimits { deadline: deadline.clone(), leaves: Some(20) };
            let _ = fiberscope::equivalence::regions::resume(
                &resumed.0,
                &resumed.1,
                &Domain::Space,
                found.clone(),
                &limits,
                &|_| (),
            );
            let options = EquivalenceOptions::new().exact(true).deadline(deadline).resume(found);
            let _ = decide(&search.a, &search.b, &Domain::Space, &options);
        }
    }
    Reading::Accepted(1)
}

fn number(bytes: &[u8], _: bool) -> Reading {
    let Ok(text) = std::str::from_utf8(bytes) else { return Reading::Refused(1) };
    let signs = text.parse::<SignVector>().is_ok();
    match text.parse::<Rational>() {
        Ok(x) if x.to_string().parse::<Rational>().ok().as_ref() != Some(&x) => {
            Reading::Broken(format!("{text:?} does not survive being written and read"))
        }
        Ok(x) => Reading::Accepted(u64::from(x.is_dyadic()) * 2 + u64::from(x.is_negative())),
        Err(error) => {
            let _ = error.to_string();
            Reading::Refused(2 + u64::from(signs))
        }
    }
}
