//! Reading a certificate as a stream: the nodes of trees and the breakpoints of a line are handed over one by
//! one.
//!
//! The keys of the file and of the evidence stand in one order, so that all that a checker must know is read
//! before the list, which may be longer than memory.

use std::fmt;
use std::io::Read;
use std::ops::ControlFlow;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Certificate, CertificateError, Evidence, FORMAT, VERSION};
use crate::serde_forms::list_from_one;
use crate::{BoxNode, CoverNode, DecisionNode, RankEvidence, Rational};

/// A part of a certificate, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum CertificatePart {
    /// All but the trees and the breakpoints, which are empty here. It comes first.
    Head(Box<Certificate>),
    /// The next node of the tree.
    Node(CoverNode),
    /// The next breakpoint.
    Breakpoint(Rational),
    /// The next node of the tree of boxes.
    Box(BoxNode),
    /// The next node of the trees of classes.
    Decision(DecisionNode),
}

/// What takes the parts, and says whether it wants more.
type Receive<'r> = &'r mut dyn FnMut(CertificatePart) -> ControlFlow<()>;

impl Certificate {
    /// Reads a certificate part by part, until the end or until `receive` breaks off. What was handed over
    /// before an error is part of a file that is no certificate.
    pub fn read_parts(reader: impl Read, receive: Receive) -> Result<(), CertificateError> {
        read(&mut serde_json::Deserializer::from_reader(reader), receive)
    }

    /// Reads a certificate.
    pub fn from_json(json: &[u8]) -> Result<Self, CertificateError> {
        let mut found: Option<Box<Certificate>> = None;
        let mut collect = |part: CertificatePart| {
            match (part, found.as_mut().map(|certificate| &mut certificate.evidence)) {
                (CertificatePart::Head(head), _) => found = Some(head),
                (CertificatePart::Node(node), Some(Evidence::Regions { tree, .. })) => tree.push(node),
                (CertificatePart::Breakpoint(t), Some(Evidence::Line { breakpoints, .. })) => {
                    breakpoints.push(t);
                }
                (CertificatePart::Box(node), Some(Evidence::Difference { tree, .. })) => tree.push(node),
                (CertificatePart::Decision(node), Some(Evidence::Decision { tree, .. })) => tree.push(node),
                (
                    CertificatePart::Node(_)
                    | CertificatePart::Breakpoint(_)
                    | CertificatePart::Box(_)
                    | CertificatePart::Decision(_),
                    _,
                ) => {
                    unreachable!("a list comes after the head that announces it")
                }
            }
            ControlFlow::Continue(())
        };
        read(&mut serde_json::Deserializer::from_slice(json), &mut collect)?;
        Ok(*found.expect("what is read to its end has a head"))
    }
}

fn read<'de, R: serde_json::de::Read<'de>>(
    deserializer: &mut serde_json::Deserializer<R>,
    receive: Receive,
) -> Result<(), CertificateError> {
    let mut state = State { receive, broken_off: false, error: None };
    let read = (&mut *deserializer).deserialize_map(FileVisitor(&mut state));
    let ended = read.and_then(|head| deserializer.end().map(|()| head));
    let State { receive, broken_off, error } = state;
    if let Some(error) = error {
        return Err(error);
    }
    if broken_off {
        return Ok(());
    }
    if let Some(head) = ended? {
        let _ = receive(CertificatePart::Head(head));
    }
    Ok(())
}

struct State<'r> {
    receive: Receive<'r>,
    /// Whether the receiver wants no more.
    broken_off: bool,
    /// An error that is not about the form.
    error: Option<CertificateError>,
}

impl State<'_> {
    fn give<E: Error>(&mut self, part: CertificatePart) -> Result<(), E> {
        self.broken_off = (self.receive)(part).is_break();
        if self.broken_off { Err(E::custom("broken off")) } else { Ok(()) }
    }
}

/// The next key of an object, which must be this one.
fn key<'de, A: MapAccess<'de>>(map: &mut A, expected: &str) -> Result<(), A::Error> {
    match map.next_key::<String>()? {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(A::Error::custom(format!("expected the key {expected:?}, found {found:?}"))),
        None => Err(A::Error::custom(format!("expected the key {expected:?}, found the end of the object"))),
    }
}

/// A list of indices that count from 1 in the file.
struct Indices(Vec<usize>);

impl<'de> Deserialize<'de> for Indices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        list_from_one::deserialize(deserializer).map(Indices)
    }
}

/// The value of the next key, which must be this one.
fn entry<'de, A: MapAccess<'de>, T: Deserialize<'de>>(map: &mut A, expected: &str) -> Result<T, A::Error> {
    key(map, expected)?;
    map.next_value()
}

/// A number of layers of which there is at least one.
fn positive<E: Error>(count: usize) -> Result<usize, E> {
    if count == 0 { Err(E::custom("expected at least 1 layer, found 0")) } else { Ok(count) }
}

fn end<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    match map.next_key::<String>()? {
        None => Ok(()),
        Some(found) => {
            Err(A::Error::custom(format!("expected the end of the object, found the key {found:?}")))
        }
    }
}

/// The file. Its value is the certificate, if that was not handed over yet.
struct FileVisitor<'s, 'r>(&'s mut State<'r>);

impl<'de> Visitor<'de> for FileVisitor<'_, '_> {
    type Value = Option<Box<Certificate>>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a certificate, a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let format: String = entry(&mut map, "format")?;
        if format != FORMAT {
            self.0.error = Some(CertificateError::Format(format.chars().take(60).collect()));
            return Err(A::Error::custom("another format"));
        }
        let version: u64 = entry(&mut map, "version")?;
        if version != VERSION {
            self.0.error = Some(CertificateError::Version(version));
            return Err(A::Error::custom("another version"));
        }
        let (a, b) = (entry(&mut map, "a")?, entry(&mut map, "b")?);
        let domain = entry(&mut map, "domain")?;
        key(&mut map, "evidence")?;
        let head = |evidence: Evidence| Box::new(Certificate { a, b, domain, evidence });
        let left = map.next_value_seed(EvidenceSeed(self.0, head))?;
        end(&mut map)?;
        Ok(left)
    }
}

/// The evidence, and what makes a certificate of it.
struct EvidenceSeed<'s, 'r, H>(&'s mut State<'r>, H);

impl<'de, H: FnOnce(Evidence) -> Box<Certificate>> DeserializeSeed<'de> for EvidenceSeed<'_, '_, H> {
    type Value = Option<Box<Certificate>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, H: FnOnce(Evidence) -> Box<Certificate>> Visitor<'de> for EvidenceSeed<'_, '_, H> {
    type Value = Option<Box<Certificate>>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("evidence, a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let EvidenceSeed(state, head) = self;
        let kind: String = entry(&mut map, "kind")?;
        let m = &mut map;
        let whole = match kind.as_str() {
            "moves" => Evidence::Moves { a: entry(m, "a")?, b: entry(m, "b")? },
            "rounding" => {
                Evidence::Rounding { a: entry(m, "a")?, b: entry(m, "b")?, bound: entry(m, "bound")? }
            }
            "nudged" => Evidence::Nudged { a: entry(m, "a")?, b: entry(m, "b")?, bound: entry(m, "bound")? },
            "close" => {
                Evidence::Close { a: entry(m, "a")?, b: entry(m, "b")?, relative: entry(m, "relative")? }
            }
            "hyperplanes" => {
                Evidence::Hyperplanes { a: entry(m, "a")?, b: entry(m, "b")?, prefix: entry(m, "prefix")? }
            }
            "rank" => Evidence::Rank(RankEvidence {
                points: entry(m, "points")?,
                folds: entry(m, "folds")?,
                outputs: entry::<_, Indices>(m, "outputs")?.0,
                extra: entry::<_, Indices>(m, "extra")?.0,
                rank: entry(m, "rank")?,
            }),
            "witness" => Evidence::Witness { x: entry(m, "x")?, a: entry(m, "a")?, b: entry(m, "b")? },
            "regions" | "tails" => {
                let (a, b) = (entry(m, "a")?, entry(m, "b")?);
                let prefix = if kind == "tails" { positive(entry(m, "prefix")?)? } else { 0 };
                let evidence = Evidence::Regions { a, b, prefix, tree: Vec::new() };
                key(m, "tree")?;
                state.give(CertificatePart::Head(head(evidence)))?;
                m.next_value_seed(List(state, CertificatePart::Node))?;
                end(m)?;
                return Ok(None);
            }
            "line" => {
                let evidence =
                    Evidence::Line { a: entry(m, "a")?, b: entry(m, "b")?, breakpoints: Vec::new() };
                key(m, "breakpoints")?;
                state.give(CertificatePart::Head(head(evidence)))?;
                m.next_value_seed(List(state, CertificatePart::Breakpoint))?;
                end(m)?;
                return Ok(None);
            }
            "difference" => {
                let (a, b, bounds) = (entry(m, "a")?, entry(m, "b")?, entry(m, "bounds")?);
                key(m, "tree")?;
                let evidence = Evidence::Difference { a, b, bounds, tree: Vec::new() };
                state.give(CertificatePart::Head(head(evidence)))?;
                m.next_value_seed(List(state, CertificatePart::Box))?;
                end(m)?;
                return Ok(None);
            }
            "decision" => {
                let (a, b, margin) = (entry(m, "a")?, entry(m, "b")?, entry(m, "margin")?);
                key(m, "tree")?;
                let evidence = Evidence::Decision { a, b, margin, tree: Vec::new() };
                state.give(CertificatePart::Head(head(evidence)))?;
                m.next_value_seed(List(state, CertificatePart::Decision))?;
                end(m)?;
                return Ok(None);
            }
            _ => return Err(A::Error::custom(format!("unknown kind of evidence {kind:?}"))),
        };
        end(m)?;
        Ok(Some(head(whole)))
    }
}

/// A list whose entries are handed over as they come.
struct List<'s, 'r, T>(&'s mut State<'r>, fn(T) -> CertificatePart);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for List<'_, '_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element()? {
            self.0.give((self.1)(item))?;
        }
        Ok(())
    }
}
