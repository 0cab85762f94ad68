//! One verifier for certificates in memory and for those that come as a stream.

use std::cell::{Cell, OnceCell};
use std::io::{self, BufReader, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use fiberscope_core::{
    BoxNode, Certificate, CertificateError, CertificatePart, CoverNode, DecisionNode, Evidence, ExactNetwork,
    Network, Rational,
};

use crate::difference::{self, Arithmetic, Pair};
use crate::{
    Checker, End, Outcome, SharedStop, Stop, close, go_on, hyperplanes, line, outcome, rank, refuse, regions,
    rewrite, rounding,
};
use crate::{verify_equal, verify_name, verify_witness};

/// What was found out about a certificate that came as a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// All of the certificate but its tree or its breakpoints; `None` if the check was stopped before that
    /// was read.
    pub head: Option<Certificate>,
    /// How many nodes or breakpoints were read.
    pub listed: u64,
    /// What the checker says.
    pub outcome: Outcome,
}

impl<'a> Checker<'a> {
    /// A check with a place for what is made on the way.
    pub(crate) fn verifier(&self, made: &'a Made) -> Verifier<'a> {
        let Checker { networks, arithmetic, threads, stop } = *self;
        Verifier { networks, arithmetic, threads, stop, made, list: List::None }
    }

    /// Checks a certificate while it is read, until it is refused or told to stop. The nodes of a tree are
    /// not kept. An error says that the file is no certificate; a file that is refused before is not read to
    /// its end.
    ///
    /// ```
    /// use fiberscope_check::{Checker, Outcome};
    /// # use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network};
    /// # let a = Network::from_rows(&[(&[&[1.0]], &[0.0])]).unwrap();
    /// # let nothing = Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() };
    /// # let file = Certificate::new(&a, &a, Domain::Space, nothing).to_json();
    /// let checked = Checker::new(&a, &a).check_reader(file.as_bytes()).unwrap();
    /// assert!(matches!(checked.outcome, Outcome::Proved(_)));
    /// ```
    pub fn check_reader(&self, reader: impl Read) -> Result<Checked, CertificateError> {
        let (made, interrupted) = (Made::default(), Cell::new(false));
        let mut verifier = self.verifier(&made);
        let (mut head, mut listed, mut ended) = (None, 0, Ok(()));
        let reader = BufReader::new(Watched { reader, stop: self.stop, interrupted: &interrupted });
        let read = Certificate::read_parts(reader, &mut |part| {
            ended = match part {
                CertificatePart::Head(certificate) => verifier.head(head.insert(*certificate)),
                CertificatePart::Node(node) => {
                    listed += 1;
                    verifier.node(&node)
                }
                CertificatePart::Breakpoint(t) => {
                    listed += 1;
                    verifier.breakpoint(&t)
                }
                CertificatePart::Box(node) => {
                    listed += 1;
                    verifier.box_node(&node)
                }
                CertificatePart::Decision(node) => {
                    listed += 1;
                    verifier.decision_node(&node)
                }
            };
            if ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if interrupted.get() {
            return Ok(Checked { head, listed, outcome: Outcome::Stopped });
        }
        if let Err(error) = read {
            // What stands before the place that could not be read may have been refused already.
            ended = verifier.settle();
            if ended.is_ok() {
                return Err(error);
            }
        }
        let ended = ended.and_then(|()| verifier.finish());
        if let Err(End::Refused(_)) = &ended {
            listed = verifier.boxes().unwrap_or(listed);
        }
        let outcome = match &head {
            Some(certificate) => outcome(certificate, ended),
            None => Outcome::Stopped,
        };
        Ok(Checked { head, listed, outcome })
    }
}

/// A reader that ends when the check is to stop.
struct Watched<'a, R> {
    reader: R,
    stop: Stop<'a>,
    interrupted: &'a Cell<bool>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            self.interrupted.set(true);
            return Err(io::Error::other("stopped"));
        }
        self.reader.read(buffer)
    }
}

/// What is made of a certificate before its list: the networks after the moves, and the pair that they are.
#[derive(Default)]
pub struct Made {
    rewritten: OnceCell<[ExactNetwork; 2]>,
    pair: OnceCell<Pair>,
}

/// The check of one certificate: its head, its nodes or breakpoints one by one, and the end.
pub struct Verifier<'a> {
    networks: (&'a Network, &'a Network),
    arithmetic: Arithmetic,
    threads: NonZeroUsize,
    stop: SharedStop<'a>,
    made: &'a Made,
    list: List<'a>,
}

/// What the list of a certificate is held against.
enum List<'a> {
    None,
    Tree(Box<regions::Walk<'a>>),
    Breakpoints(Box<line::LineCheck<'a>>),
    Boxes(Box<difference::Walk<'a>>),
    Classes(Box<difference::DecisionWalk<'a>>),
}

impl<'a> Verifier<'a> {
    /// Checks all that stands before a list, and all evidence without one.
    pub fn head(&mut self, certificate: &Certificate) -> Result<(), End> {
        let ((a, b), stop) = (self.networks, self.stop);
        go_on(stop)?;
        verify_name("network A", &certificate.a, a)?;
        verify_name("network B", &certificate.b, b)?;
        if a.input_width() != b.input_width() || a.output_width() != b.output_width() {
            return refuse("networks", "A and B must have the same numbers of inputs and outputs");
        }
        let domain = &certificate.domain;
        domain.check(a.input_width()).or_else(|error| refuse("domain", error.to_string()))?;
        let both = |moves_a, moves_b| {
            let a = rewrite("A", a, moves_a, domain, stop)?;
            Ok([a, rewrite("B", b, moves_b, domain, stop)?])
        };
        match &certificate.evidence {
            Evidence::Moves { a: moves_a, b: moves_b } => {
                // Most chains permute and scale by powers of two, which is exact in doubles. They are short enough for
                // all limits: a factor has at most 1,025 bits, a parameter 1,128.
                go_on(stop)?;
                let in_doubles = moves_a.apply_in_doubles(a);
                go_on(stop)?;
                let in_doubles = in_doubles.zip(moves_b.apply_in_doubles(b));
                go_on(stop)?;
                if in_doubles.is_some_and(|(a, b)| a == b) {
                    return Ok(());
                }
                let [a, b] = both(moves_a, moves_b)?;
                verify_equal(&a, &b)
            }
            Evidence::Rounding { a, b, bound } => {
                let [a, b] = both(a, b)?;
                rounding::verify(&a, &b, domain, bound, stop)
            }
            Evidence::Nudged { a: steps_a, b: steps_b, bound } => {
                rounding::verify_nudged((a, steps_a), (b, steps_b), domain, bound, stop)
            }
            Evidence::Close { a, b, relative } => {
                let [a, b] = both(a, b)?;
                close::verify(&a, &b, relative)
            }
            Evidence::Hyperplanes { a, b, prefix } => {
                let [a, b] = both(a, b)?;
                go_on(stop)?;
                hyperplanes::verify(&a, &b, domain, *prefix)
            }
            Evidence::Regions { a, b, prefix, .. } => {
                let both = both(a, b)?;
                go_on(stop)?;
                let (both, domain) = match prefix {
                    0 => (both, domain.clone()),
                    _ => regions::tails(both, domain, *prefix)?,
                };
                let [a, b] = self.keep(both);
                self.list = List::Tree(Box::new(regions::Walk::new(a, b, &domain, stop)?));
                Ok(())
            }
            Evidence::Line { a, b, .. } => {
                let [a, b] = self.keep(both(a, b)?);
                self.list = List::Breakpoints(Box::new(line::LineCheck::new(a, b, domain)?));
                Ok(())
            }
            Evidence::Difference { a, b, bounds, .. } => {
                let networks = self.keep(both(a, b)?);
                let pair = difference::pair(&networks[0], &networks[1])?;
                let pair = self.made.pair.get_or_init(|| pair);
                let walk =
                    difference::Walk::new(networks, pair, domain, bounds, (self.arithmetic, self.threads))?;
                self.list = List::Boxes(Box::new(walk));
                Ok(())
            }
            Evidence::Decision { a, b, margin, .. } => {
                let networks = self.keep(both(a, b)?);
                let pair = difference::pair(&networks[0], &networks[1])?;
                let pair = self.made.pair.get_or_init(|| pair);
                let walk = difference::DecisionWalk::new(networks, pair, domain, margin, self.arithmetic)?;
                self.list = List::Classes(Box::new(walk));
                Ok(())
            }
            Evidence::Witness { x, a: value_a, b: value_b } => {
                verify_witness((a, value_a), (b, value_b), domain, x)
            }
            Evidence::Rank(evidence) => rank::verify(certificate, evidence, a, stop),
            _ => refuse("evidence", "the checker does not know this kind of evidence"),
        }
    }

    fn keep(&self, networks: [ExactNetwork; 2]) -> &'a [ExactNetwork; 2] {
        self.made.rewritten.get_or_init(|| networks)
    }

    /// The next node of the tree.
    pub fn node(&mut self, node: &CoverNode) -> Result<(), End> {
        go_on(self.stop)?;
        match &mut self.list {
            List::Tree(walk) => walk.next(node),
            _ => refuse("region tree", "there is no tree in this kind of evidence"),
        }
    }

    /// The next breakpoint.
    pub fn breakpoint(&mut self, t: &Rational) -> Result<(), End> {
        go_on(self.stop)?;
        match &mut self.list {
            List::Breakpoints(line) => line.next(t),
            _ => refuse("line", "there are no breakpoints in this kind of evidence"),
        }
    }

    /// The next node of the tree of boxes.
    pub fn box_node(&mut self, node: &BoxNode) -> Result<(), End> {
        go_on(self.stop)?;
        match &mut self.list {
            List::Boxes(walk) => walk.next(node, self.stop),
            _ => refuse("tree of boxes", "there is no tree of boxes in this kind of evidence"),
        }
    }

    /// The next node of the trees of classes.
    pub fn decision_node(&mut self, node: &DecisionNode) -> Result<(), End> {
        go_on(self.stop)?;
        match &mut self.list {
            List::Classes(walk) => walk.next(node, self.stop),
            _ => refuse("trees of classes", "there are no trees of classes in this kind of evidence"),
        }
    }

    /// Takes up what was left for later.
    pub fn settle(&mut self) -> Result<(), End> {
        match &mut self.list {
            List::Boxes(walk) => walk.bound_all(self.stop),
            _ => Ok(()),
        }
    }

    /// The number of boxes so far, up to one that was refused; `None` if there is no tree of them.
    pub fn boxes(&self) -> Option<u64> {
        match &self.list {
            List::Boxes(walk) => Some(walk.count()),
            _ => None,
        }
    }

    /// The end of the certificate.
    pub fn finish(&mut self) -> Result<(), End> {
        match &mut self.list {
            List::None => Ok(()),
            List::Tree(walk) => walk.finish(),
            List::Breakpoints(line) => line.finish(),
            List::Boxes(walk) => walk.finish(self.stop),
            List::Classes(walk) => walk.finish(),
        }
    }
}
