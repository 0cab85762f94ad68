//! What a report says, for readers in a hurry: the verdict, the numbers that matter, and what is not known and why.

use fiberscope::anatomy::Anatomy;
use fiberscope::difference::Difference as Apart;
use fiberscope::equivalence::{Agreement, Decision, Difference, Verdict};
use fiberscope_core::{Domain, Role, decimal};

use crate::anatomy::words::{identifiable, undecided};
use crate::dimension::DimensionSummary;
use crate::equivalence::point;
use crate::fiber::FiberSummary;
use crate::number::grouped;
use crate::page::{Badge, Section};
use crate::rigidity::Local;
use crate::words::{self, plural, widths};

/// The sentences of a summary, as they are found.
#[derive(Default)]
pub struct Summary {
    verdict: Option<(Badge, String)>,
    /// What is known.
    pub known: Vec<String>,
    /// What is not known, and why.
    pub open: Vec<String>,
    /// How many certificates the page has, each of them checked.
    pub certificates: usize,
}

impl Summary {
    /// The section at the top of the page.
    pub fn section(self) -> Section {
        let Summary { verdict, mut known, open, certificates } = self;
        if certificates > 0 {
            known.push(format!(
                "{} on this page {} checked in exact arithmetic on the stored numbers before the page was written.",
                match certificates {
                    1 => "The certificate".into(),
                    _ => format!("All {certificates} certificates"),
                },
                plural(certificates, "was", "were")
            ));
        }
        let mut section = Section::new("Summary");
        if let Some((badge, sentence)) = verdict {
            section = section.badge(badge).paragraph(sentence);
        }
        if !known.is_empty() {
            section = section.points(known);
        }
        if !open.is_empty() {
            section = section.subheading("Not known, and why").points(open);
        }
        section
    }

    /// The verdict on two networks.
    pub fn verdict(&mut self, (a, b): (&str, &str), decision: &Decision, domain: &Domain) {
        let place = domain_words(domain);
        let (badge, sentence) = match &decision.verdict {
            Verdict::Equivalent { .. } => {
                (Badge::good("the same function"), format!("{a} and {b} compute the same function {place}."))
            }
            Verdict::EquivalentUpToRounding { agreement, differ_at, .. } => {
                let agreed = match agreement {
                    Agreement::Outputs { bound, .. } => {
                        format!("their outputs differ by at most {} {place}", decimal::upper(bound))
                    }
                    Agreement::Parameters { relative } => format!(
                        "with neurons put in the same order and scale, their parameters agree to a relative difference of {}",
                        decimal::upper(relative)
                    ),
                };
                let seen = match differ_at {
                    Some(found) => format!("they are not exactly equal: {}", at(found)),
                    None => "no input where they differ was found".into(),
                };
                let sentence = format!("{a} and {b} are the same up to rounding: {agreed}; {seen}.");
                (Badge::good("the same up to rounding"), sentence)
            }
            Verdict::Different { x, a: of_a, b: of_b, .. } => {
                let found = Difference { x: x.clone(), a: of_a.clone(), b: of_b.clone() };
                (
                    Badge::bad("different functions"),
                    format!("{a} and {b} compute different functions: {}.", at(&found)),
                )
            }
            Verdict::Undecided { limit, difference, .. } => {
                let why = limit.map_or("none of the methods decides".into(), |limit| limit.to_string());
                self.open.push(format!("Whether {a} and {b} compute the same function {place}: {why}."));
                let seen = difference
                    .as_ref()
                    .map_or(String::new(), |found| format!(" They are not equal: {}.", at(found)));
                (Badge::open("not decided"), format!("Whether {a} and {b} agree is not decided.{seen}"))
            }
        };
        self.verdict = Some((badge, sentence));
        self.certificates += usize::from(crate::equivalence::certificate(&decision.verdict).is_some());
    }

    /// How far apart two networks are on a box.
    pub fn apart(&mut self, found: &Apart) {
        let least = decimal::lower(&found.lower);
        match &found.upper {
            Some(upper) => self.known.push(format!(
                "On the box their outputs differ by at most {} (proved); an input where they differ by {least} is shown.",
                decimal::upper(upper)
            )),
            None => self.open.push(format!("How far apart the outputs can be: at least {least}, no upper bound was found.")),
        }
        self.certificates += usize::from(found.certificate.is_some());
    }

    /// What a network is.
    pub fn network(&mut self, name: &str, anatomy: &Anatomy) {
        let hidden: usize = anatomy.roles.iter().map(Vec::len).sum();
        let count = |role: Role| anatomy.roles.iter().flatten().filter(|&&each| each == role).count();
        let (dead, linear) = (count(Role::Dead), count(Role::Linear));
        let roles = match (dead, linear) {
            _ if hidden == 0 => "no hidden neurons".to_owned(),
            (0, 0) => format!(
                "{} hidden {}, none of them dead or linear by their bounds",
                grouped(hidden),
                plural(hidden, "neuron", "neurons")
            ),
            _ => {
                let part =
                    |count: usize, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
                let parts = [part(dead, "dead (never active)"), part(linear, "linear (always active)")];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                let neurons = plural(hidden, "neuron", "neurons");
                format!("{} hidden {neurons}, of them {}", grouped(hidden), parts.join(" and "))
            }
        };
        self.known.push(format!(
            "{name} has widths {} and {} parameters: {roles}.",
            widths(&anatomy.widths),
            grouped(anatomy.parameters)
        ));
        match identifiable(anatomy) {
            (Some(true), reason) => self.known.push(format!(
                "The function of {name} determines its parameters, up to the order and the scales of neurons: {reason}."
            )),
            (Some(false), reason) => {
                self.known
                    .push(format!("Other parameters than those of {name} have its function: {reason}."));
            }
            (None, reason) => {
                let needed = undecided(anatomy).map_or_else(|| reason.to_owned(), |open| open.needed);
                self.open
                    .push(format!("Whether the function of {name} determines its parameters: {needed}."));
            }
        }
    }

    /// Whether it is not known if the function determines the parameters of a network, but proved that those near
    /// them do not have it, scalings aside.
    pub fn local(&mut self, name: &str, anatomy: &Anatomy, local: &Local) -> bool {
        let says_more = identifiable(anatomy).0.is_none() && local.identifiable == Some(true);
        if says_more {
            self.known.push(format!(
                "Near the parameters of {name}, only the positive scalings of its neurons have its function: it is locally identifiable (proved)."
            ));
        }
        says_more
    }

    /// Which other parameters have the function.
    pub fn fiber(&mut self, summary: &FiberSummary) {
        if summary.case.is_some() {
            self.known.push(format!(
                "All parameters with this function are described; dimension {}.",
                summary.dimension_text()
            ));
            return;
        }
        let most = summary.local.map(|(local, _)| local);
        let between = match most {
            Some(most) if most == summary.lower_bound => format!("{most} dimensions"),
            Some(most) => format!("between {} and {most} dimensions", summary.lower_bound),
            None => format!("at least {} dimensions", summary.lower_bound),
        };
        self.known.push(format!(
            "Near these parameters, those with the same function have {between} of {}; {} of them are scalings of neurons.",
            grouped(summary.parameters),
            summary.scalings
        ));
        if let Some(failing) = summary.conditions.iter().find(|condition| !condition.holds) {
            let detail = failing.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
            self.open.push(format!(
                "All parameters with this function: the theory needs that {}, which fails here{detail}.",
                failing.statement
            ));
        }
    }

    /// The functional dimension.
    pub fn dimension(&mut self, summary: &DimensionSummary) {
        let (lower, upper) = summary.interval;
        let of = format!("of {} parameters", grouped(summary.parameters));
        match summary.rank {
            Some(rank) if lower == upper => {
                self.known.push(format!("Functional dimension {rank} {of} on {} (proved).", summary.on));
            }
            _ => self.open.push(format!(
                "The functional dimension on {} exactly: it lies between {lower} and {upper} {of}.",
                summary.on
            )),
        }
    }
}

fn domain_words(domain: &Domain) -> String {
    match domain {
        Domain::Space => "everywhere".into(),
        Domain::Box(sides) => format!("on {}", words::domain(domain, sides.len())),
    }
}

fn at(found: &Difference) -> String {
    format!(
        "at x = {} the first gives {}, the second {}, a difference of {}",
        point(&found.x),
        point(&found.a),
        point(&found.b),
        decimal::lower(&found.size())
    )
}
