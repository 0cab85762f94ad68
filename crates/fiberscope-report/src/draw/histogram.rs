//! Histograms of numbers that are not negative, over powers of ten.

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, label, polyline, rectangle, segment, shortened};
use crate::number::grouped;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 52.0;
/// Bins of a power of ten.
const PARTS: i32 = 4;
/// The most powers of ten that are shown; what is smaller stands with the zeros.
const DECADES: i32 = 12;

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The title.
    pub title: String,
    /// What the numbers are.
    pub x_label: String,
    /// What is counted.
    pub y_label: String,
    /// The numbers; those that are not finite are left out.
    pub values: Vec<f64>,
    /// Values to be marked by lines, and what they are.
    pub lines: Vec<(f64, String)>,
}

/// The powers of ten that are shown, and the counts: of zeros and what is below the least power, and of the bins.
struct Bins {
    decades: (i32, i32),
    below: usize,
    counts: Vec<usize>,
}

impl Bins {
    fn of(histogram: &Histogram) -> Self {
        let values = || histogram.values.iter().copied().filter(|value| value.is_finite());
        let lines = histogram.lines.iter().map(|(value, _)| *value).filter(|value| value.is_finite());
        let positive = || values().chain(lines.clone()).filter(|value| *value > 0.0).map(f64::log10);
        let most = positive().fold(f64::NEG_INFINITY, f64::max);
        let least = positive().fold(f64::INFINITY, f64::min);
        let last = if most.is_finite() { (most + 1e-9).floor() as i32 + 1 } else { 1 };
        let first = if least.is_finite() { least.floor() as i32 } else { 0 };
        let first = first.clamp(last - DECADES, last - 1);
        let mut counts = vec![0; ((last - first) * PARTS) as usize];
        let mut below = 0;
        for value in values() {
            let place = ((value.log10() - f64::from(first)) * f64::from(PARTS)).floor();
            match place >= 0.0 {
                true => counts[(place as usize).min(((last - first) * PARTS) as usize - 1)] += 1,
                false => below += 1,
            }
        }
        Bins { decades: (first, last), below, counts }
    }
}

impl Histogram {
    /// Draws the histogram.
    pub fn draw(&self) -> Svg {
        let bins = Bins::of(self);
        // Behind the zeros there is a gap.
        let zeros = if bins.below > 0 { 56.0 } else { 0.0 };
        let top = 44.0 + 18.0 * self.lines.len() as f64;
        let (left, right, bottom) = (LEFT + zeros, WIDTH - RIGHT, HEIGHT - BOTTOM);
        let most = bins.counts.iter().copied().max().unwrap_or(0).max(bins.below).max(1);
        let height = |count: usize| (bottom - top) * count as f64 / most as f64;
        let (first, last) = bins.decades;
        let place = |power: f64| left + (power - f64::from(first)) / f64::from(last - first) * (right - left);
        let mut content = vec![label("head", (LEFT, 24.0), &shortened(&self.title, 78))];
        for power in first..=last {
            let x = place(f64::from(power));
            content.push(segment("grid", (x, top), (x, bottom)));
            content.push(label("tick mid", (x, bottom + 17.0), &format!("1e{power}")));
        }
        let bar = |x: f64, width: f64, count: usize| {
            rectangle("part-0", (x, bottom - height(count)), (width, height(count)))
        };
        let width = (right - left) / bins.counts.len() as f64;
        for (i, &count) in bins.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            content.push(bar(left + width * i as f64 + 0.5, width - 1.0, count));
        }
        if bins.below > 0 {
            content.push(bar(LEFT + 8.0, 30.0, bins.below));
            let name = if self.values.iter().all(|value| *value == 0.0 || value.log10() >= f64::from(first)) {
                "0".into()
            } else {
                format!("< 1e{first}")
            };
            content.push(label("tick mid", (LEFT + 23.0, bottom + 17.0), &name));
        }
        for (count, y) in [(0, bottom), (most, top)] {
            content.push(label("tick end", (LEFT - 8.0, y + 4.0), &grouped(count)));
        }
        let corner = [(LEFT, top), (LEFT, bottom), (right, bottom)];
        content.push(Element::new("path").class("axis").attr("d", polyline(&corner)));
        for (i, (value, name)) in self.lines.iter().enumerate().filter(|(_, (value, _))| *value > 0.0) {
            let x = place(value.log10()).clamp(left, right);
            let y = 44.0 + 18.0 * i as f64;
            content.push(segment(if i % 2 == 0 { "track-2" } else { "track-3" }, (x, y + 2.0), (x, bottom)));
            let (class, shift) = if x > 0.5 * WIDTH { ("name end", -6.0) } else { ("name", 6.0) };
            content.push(label(class, (x + shift, y + 4.0), name));
        }
        content.push(label("mid", (0.5 * (LEFT + right), HEIGHT - 12.0), &shortened(&self.x_label, 80)));
        let middle = 0.5 * (top + bottom);
        let turned = format!("rotate(-90 16 {middle:.0})");
        content.push(label("mid", (16.0, middle), &shortened(&self.y_label, 40)).attr("transform", turned));
        let lines: Vec<&str> = self.lines.iter().map(|(_, name)| name.as_str()).collect();
        let description = format!(
            "Histogram of {} numbers: {}. Marked: {}.",
            grouped(self.values.len()),
            self.x_label,
            if lines.is_empty() { "nothing".into() } else { lines.join("; ") }
        );
        Svg::new((WIDTH, HEIGHT), &self.title, description, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_once() {
        let values = vec![0.0, 1e-9, 0.1, 0.11, 1.0, 9.99, 10.0, f64::NAN];
        let bins = Bins::of(&Histogram { values, ..Histogram::default() });
        assert_eq!(bins.decades, (-9, 2));
        assert_eq!((bins.below, bins.counts.iter().sum::<usize>()), (1, 6));
        let at = |power: i32| bins.counts[((power + 9) * PARTS) as usize];
        assert_eq!((at(-1), at(0), at(1)), (2, 1, 1));
    }

    #[test]
    fn what_spans_too_much_stands_with_the_zeros() {
        let bins = Bins::of(&Histogram { values: vec![1e-200, 1.0], ..Histogram::default() });
        assert_eq!((bins.decades, bins.below), ((1 - DECADES, 1), 1));
    }

    #[test]
    fn nothing_and_zeros_are_drawn() {
        for values in [vec![], vec![0.0; 3], vec![f64::NAN], vec![1.0]] {
            let lines = vec![(2.0, "x".to_owned()), (f64::INFINITY, "y".to_owned())];
            let svg = Histogram { values, lines, ..Histogram::default() }.draw().to_document();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
