//! Charts of experiments: trajectories with their mean and a band, and scatter plots.

use crate::draw::graph::{Frame, HEIGHT, WIDTH, is_shown, legend_places};
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, label, polyline, segment};
use crate::number::significant;

/// One group of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// The name in the legend.
    pub name: String,
    /// `x`, the mean, and the lower and upper end of the band.
    pub mean: Vec<[f64; 4]>,
    /// The runs themselves, drawn thin.
    pub runs: Vec<Vec<(f64, f64)>>,
}

impl Trajectory {
    /// The mean of runs that are recorded at the same places, with a band of one standard error on either
    /// side. A run that ends early counts as far as it goes.
    pub fn of_runs(name: impl Into<String>, runs: Vec<Vec<(f64, f64)>>) -> Self {
        let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
        let mean = |k: usize| {
            let values: Vec<(f64, f64)> = runs.iter().filter_map(|run| run.get(k).copied()).collect();
            let count = values.len() as f64;
            let mean = values.iter().map(|(_, y)| y).sum::<f64>() / count;
            let square = values.iter().map(|(_, y)| (y - mean).powi(2)).sum::<f64>();
            let error = if count > 1.0 { (square / (count - 1.0) / count).sqrt() } else { 0.0 };
            [values[0].0, mean, mean - error, mean + error]
        };
        let mean = (0..longest).map(mean).collect();
        Trajectory { name: name.into(), mean, runs }
    }
}

/// A chart of trajectories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrajectoryChart {
    /// The title.
    pub title: String,
    /// What the horizontal axis shows.
    pub x_label: String,
    /// What the vertical axis shows.
    pub y_label: String,
    /// The groups of runs.
    pub trajectories: Vec<Trajectory>,
}

const TRACKS: [&str; 4] = ["track-1", "track-2", "track-3", "track-4"];
const RUNS: [&str; 4] = ["run-1", "run-2", "run-3", "run-4"];
const BANDS: [&str; 4] = ["band-1", "band-2", "band-3", "band-4"];
const MARKS: [&str; 6] = ["mark-1", "mark-2", "mark-3", "mark-4", "mark-5", "mark-6"];

impl TrajectoryChart {
    /// Draws the chart.
    pub fn draw(&self) -> Svg {
        let names: Vec<&str> = self.trajectories.iter().map(|each| each.name.as_str()).collect();
        let band = |each: &Trajectory| -> Vec<(f64, f64)> {
            each.mean.iter().flat_map(|&[x, _, low, high]| [(x, low), (x, high)]).collect()
        };
        let mut points: Vec<(f64, f64)> = self.trajectories.iter().flat_map(band).collect();
        points.extend(self.trajectories.iter().flat_map(|each| each.runs.iter().flatten().copied()));
        let frame = Frame::around(&points, &names);
        let mut content = frame.surroundings(&self.title, &self.x_label, &self.y_label);
        let line = |points: &[(f64, f64)], class: &'static str| {
            let placed: Vec<_> = points.iter().filter(|p| is_shown(p)).map(|&p| frame.place(p)).collect();
            Element::new("path").class(class).attr("d", polyline(&placed))
        };
        for (index, each) in self.trajectories.iter().enumerate() {
            content.extend(each.runs.iter().map(|run| line(run, RUNS[index % 4])));
        }
        for (index, each) in self.trajectories.iter().enumerate() {
            let upper = each.mean.iter().map(|&[x, _, _, high]| (x, high));
            let lower = each.mean.iter().rev().map(|&[x, _, low, _]| (x, low));
            content.push(line(&upper.chain(lower).collect::<Vec<_>>(), BANDS[index % 4]));
            let mean: Vec<_> = each.mean.iter().map(|&[x, mean, ..]| (x, mean)).collect();
            content.push(line(&mean, TRACKS[index % 4]));
        }
        for (index, (at, name)) in legend_places(&names).into_iter().enumerate() {
            let sample = segment(TRACKS[index % 4], (at.0, at.1 - 4.0), (at.0 + 30.0, at.1 - 4.0));
            content.extend([sample, label("name", (at.0 + 37.0, at.1), &name)]);
        }
        let last = |each: &Trajectory| {
            let end = each.mean.last().map_or(f64::NAN, |mean| mean[1]);
            format!("{} ends at {}", each.name, significant(end, 4))
        };
        let ends: Vec<String> = self.trajectories.iter().map(last).collect();
        let description = format!("Means with bands of one standard error: {}.", ends.join("; "));
        Svg::new((WIDTH, HEIGHT), &self.title, description, content)
    }
}

/// A chart of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterChart {
    /// The title.
    pub title: String,
    /// What the horizontal axis shows.
    pub x_label: String,
    /// What the vertical axis shows.
    pub y_label: String,
    /// Groups of points with their names.
    pub groups: Vec<(String, Vec<(f64, f64)>)>,
}

impl ScatterChart {
    /// Draws the chart.
    pub fn draw(&self) -> Svg {
        let names: Vec<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
        let points: Vec<(f64, f64)> = self.groups.iter().flat_map(|(_, points)| points.clone()).collect();
        let frame = Frame::around(&points, &names).widened();
        let mut content = frame.surroundings(&self.title, &self.x_label, &self.y_label);
        for (index, (_, points)) in self.groups.iter().enumerate() {
            let shown = points.iter().filter(|point| is_shown(point));
            content.extend(shown.map(|&point| circle(MARKS[index % MARKS.len()], frame.place(point), 2.6)));
        }
        for (index, (at, name)) in legend_places(&names).into_iter().enumerate() {
            let sample = circle(MARKS[index % MARKS.len()], (at.0 + 15.0, at.1 - 4.0), 4.0);
            content.extend([sample, label("name", (at.0 + 37.0, at.1), &name)]);
        }
        let description = format!("{} points: {} against {}.", points.len(), self.y_label, self.x_label);
        Svg::new((WIDTH, HEIGHT), &self.title, description, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_standard_errors() {
        let runs = vec![vec![(0.0, 1.0), (1.0, 3.0)], vec![(0.0, 3.0), (1.0, 3.0)], vec![(0.0, 5.0)]];
        let each = Trajectory::of_runs("x", runs);
        let error = (8.0f64 / 2.0 / 3.0).sqrt();
        assert_eq!(each.mean[0], [0.0, 3.0, 3.0 - error, 3.0 + error]);
        assert_eq!(each.mean[1], [1.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn charts_are_drawn_with_what_there_is() {
        let runs = vec![vec![(0.0, 1.0), (1.0, f64::NAN)], vec![(0.0, 3.0), (1.0, 2.0)]];
        let chart = TrajectoryChart {
            title: "t".into(),
            trajectories: vec![Trajectory::of_runs("a", runs), Trajectory::default()],
            ..TrajectoryChart::default()
        };
        let svg = chart.draw().to_document();
        assert!(!svg.contains("NaN\"") && svg.contains("track-2") && svg.matches("run-1\"").count() == 2);
        let points = vec![(1.0, 2.0), (2.0, 1.0)];
        let groups = ["f", "g", "h", "i", "j"].map(|name| (name.to_owned(), points.clone())).to_vec();
        let svg = ScatterChart { groups, ..ScatterChart::default() }.draw().to_document();
        assert_eq!((svg.matches("<circle").count(), svg.matches("mark-1\"").count()), (15, 3));
        assert!(!ScatterChart::default().draw().to_document().contains("NaN"));
    }
}
