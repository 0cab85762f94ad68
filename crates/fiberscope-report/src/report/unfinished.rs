//! A report while it is made. A step may take longer than a limit allows; what was found before is a page, too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::summary::Summary;
use super::{Named, ReportQuestion, references, title};
use crate::number::grouped;
use crate::page::Page;
use crate::web::CHECKER;
use crate::words::widths;

/// What there is of a report. Clones are the same report.
#[derive(Clone)]
pub struct Unfinished(Arc<Parts>);

struct Parts {
    title: String,
    page: Mutex<Page>,
    summary: Mutex<Summary>,
    /// What is known of the networks before any work.
    networks: Vec<String>,
}

impl Unfinished {
    /// The report before any work.
    pub fn new(question: &ReportQuestion) -> Self {
        let known = |Named { name, network, .. }: &Named| {
            let parameters = grouped(network.parameter_count());
            format!("{name} has widths {} and {parameters} parameters.", widths(&network.widths()))
        };
        let title = title(question);
        Unfinished(Arc::new(Parts {
            page: Mutex::new(Page::new(&title)),
            summary: Mutex::default(),
            networks: std::iter::once(&question.a).chain(&question.b).map(known).collect(),
            title,
        }))
    }

    pub(super) fn change(&self, work: impl FnOnce(Page) -> Page) {
        let mut page = held(&self.0.page);
        *page = work(std::mem::replace(&mut *page, Page::new(&self.0.title)));
    }

    pub(super) fn summary(&self) -> MutexGuard<'_, Summary> {
        held(&self.0.summary)
    }

    /// The page of all that was found. The report is empty behind it.
    pub(super) fn html(&self) -> String {
        let summary = std::mem::take(&mut *self.summary());
        self.change(|page| page.section(references()).summary(summary.section()));
        if let Some(checker) = CHECKER {
            self.change(|page| page.checker(checker));
        }
        std::mem::replace(&mut *held(&self.0.page), Page::new(&self.0.title)).to_html()
    }

    /// The page of what was found before a limit; `limit` says what came: "the time limit was reached". The
    /// report is empty behind it.
    pub fn html_at(&self, limit: &str) -> String {
        {
            let mut summary = self.summary();
            if summary.known.is_empty() {
                summary.known.clone_from(&self.0.networks);
            }
            summary.open.push(format!("What else a report tells: {limit} before it was found."));
        }
        self.html()
    }
}

/// What is added stands there or does not, whatever happened to the thread that held it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use fiberscope::limit::Deadline;
    use fiberscope_core::{Domain, Network};
    use fiberscope_io::Precision;

    use super::*;
    use crate::page::Section;

    #[test]
    fn a_limit_leaves_a_page_of_what_was_found() {
        let network = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[2.0]], &[0.5])]).unwrap();
        let named = |name| Named {
            name,
            network: &network,
            precision: Precision::F64,
            assumed: None,
            set_aside: &[],
        };
        let question = ReportQuestion {
            a: named("first"),
            b: Some(named("second")),
            domain: &Domain::Space,
            batch: None,
            seed: 0,
            deadline: Deadline::NEVER,
        };
        let report = Unfinished::new(&question);
        let empty = report.clone().html_at("the time limit was reached");
        assert!(empty.contains("Report on first and second"));
        assert!(empty.contains("second has widths 1-1-1 and 4 parameters."), "{empty}");
        assert!(empty.contains("the time limit was reached before it was found"));
        report.change(|page| page.section(Section::new("A verdict")));
        report.summary().known.push("They differ.".into());
        let some = report.html_at("the memory limit was reached");
        assert!(some.contains("A verdict") && some.contains("They differ."));
        assert!(!some.contains("has widths"));
    }
}
