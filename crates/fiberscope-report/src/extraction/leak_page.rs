//! The page for the owner of a model: which answers stop which stage of an extraction, and what they cost.

use fiberscope::extract::ExtractOutcome;

use super::leak::{LeakReport, LeakRow, percent};
use super::name as verdict_name;
use crate::draw::trajectory::ScatterChart;
use crate::number::{grouped, significant};
use crate::page::{Cell, Page, Section, Table};
use crate::reading::HowRead;

impl LeakReport {
    /// The page, which says how the file of the model was read.
    pub fn to_html(&self, read: &HowRead) -> String {
        let (lo, hi) = self.domain;
        let widths: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        let introduction = format!(
            "{} has {} parameters and hidden layers of {} neurons. It was extracted from its own answers, as \
             they are and made coarser in the usual ways, to inputs in [{lo}, {hi}].",
            self.name,
            grouped(self.parameters),
            widths.join(", ")
        );
        let unfinished = match self.unfinished.as_slice() {
            [] => String::new(),
            some => format!("A limit came before these answers were finished: {}.", some.join(", ")),
        };
        let introduction = [introduction.as_str(), &unfinished, &read.text()];
        let introduction =
            introduction.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Page::new(format!("What {} leaks", self.name))
            .introduce(introduction.trim_end().replace('\n', ". "))
            .section(self.section())
            .section(self.stages())
            .section(self.costs())
            .to_html()
    }

    /// Digits in, digits out.
    fn section(&self) -> Section {
        let header = ["answers", "verdict", "queries", "digits of the worst parameter", "what is missing"];
        let mut table = Table::new(header);
        for row in &self.rows {
            table = table.row([
                Cell::text(&row.precision),
                Cell::text(verdict_name(&row.outcome)),
                Cell::number(grouped(row.queries as usize)),
                Cell::number(row.digits().map_or("-".into(), |digits| format!("{digits:.1}"))),
                Cell::text(row.reason().unwrap_or(if row.open {
                    "parameters that the answers leave open"
                } else {
                    ""
                })),
            ]);
        }
        Section::new("Digits in, digits out")
            .paragraph(
                "Digits are those of the parameter that came out worst, after alignment. Where there is none, this \
                 program did not get the parameters out of such answers; that is no proof that nobody can.",
            )
            .table(table)
            .figure(self.digits_chart().draw(), "Digits of an answer against digits of the worst parameter, 0 where none came out.")
            .figure(self.queries_chart().draw(), "Queries, as a power of ten, against digits of an answer.")
    }

    /// The last stage that every kind of answers let pass.
    fn stages(&self) -> Section {
        let mut names = vec!["answers".to_owned()];
        names.extend((1..=self.hidden.len()).map(|layer| format!("hidden layer {layer}")));
        names.push("whole network".into());
        let mut table = Table::new(names.iter().map(String::as_str));
        for row in &self.rows {
            let mut cells = vec![Cell::text(&row.precision)];
            for (at, width) in self.hidden.iter().enumerate() {
                cells.push(Cell::text(match row.layers.get(at) {
                    None => "not found".to_owned(),
                    Some((found, oriented)) => {
                        let side = if *oriented { "" } else { ", orientation unknown" };
                        format!("{found} neurons found, {width} in truth{side}")
                    }
                }));
            }
            cells.push(Cell::text(if row.outcome == ExtractOutcome::Verified { "verified" } else { "no" }));
            table = table.row(cells);
        }
        Section::new("What stops which stage")
            .paragraph(
                "A layer is a stage: its hyperplanes are looked for, then on which side its neurons are on, then the \
                 layer behind it. Layers that are known are of use to whoever goes on by other means. Where no network was \
                 verified, some of what was found may not exist.",
            )
            .table(table)
    }

    fn costs(&self) -> Section {
        let mut table = Table::new(["answers", "largest change of an output", "inputs whose class changes"]);
        for row in &self.rows {
            let cost = row.cost;
            table = table.row([
                Cell::text(&row.precision),
                Cell::number(cost.and_then(|cost| cost.largest).map_or("-".into(), |v| significant(v, 2))),
                Cell::number(cost.and_then(|cost| cost.classes).map_or("-".into(), percent)),
            ]);
        }
        Section::new("What it costs")
            .paragraph(format!("What honest users lose: {}.", self.measured()))
            .table(table)
    }

    fn chart(&self, title: &str, y_label: &str, value: impl Fn(&LeakRow) -> f64) -> ScatterChart {
        let points = |wanted: &dyn Fn(&LeakRow) -> bool| -> Vec<(f64, f64)> {
            let rows = self.rows.iter().filter(|row| wanted(row));
            rows.filter_map(|row| Some((row.digits_in()?, value(row)))).collect()
        };
        ScatterChart {
            title: title.into(),
            x_label: "digits of an answer".into(),
            y_label: y_label.into(),
            groups: vec![
                ("rounded".into(), points(&|row| row.decimals.is_some())),
                (
                    "double, float32, float16".into(),
                    points(&|row| row.decimals.is_none() && row.noise.is_none()),
                ),
                ("with noise".into(), points(&|row| row.noise.is_some())),
            ],
        }
    }

    /// Digits of answers against digits of parameters.
    pub fn digits_chart(&self) -> ScatterChart {
        self.chart("Digits in, digits out", "digits of the worst parameter", |row| {
            row.digits().unwrap_or(0.0).max(0.0)
        })
    }

    fn queries_chart(&self) -> ScatterChart {
        self.chart("Queries", "queries (power of ten)", |row| (row.queries.max(1) as f64).log10())
    }
}
