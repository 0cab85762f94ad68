//! Bars for the values of a measure, one group for each list of widths.

use fiberscope::survey::Measure;

use super::Statistics;
use crate::Svg;
use crate::draw::markup::Element;
use crate::draw::svg::{label, polyline, rectangle, segment, shortened};
use crate::number::grouped;
use crate::words::joined;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;
const PANEL: f64 = 210.0;
/// The most bars that have names below them.
const NAMED: usize = 16;

/// The measure in a chart.
type Groups<'a> = [(&'a Vec<usize>, &'a Statistics)];

/// One panel below the other, each with the share of networks for every value.
pub(super) fn chart(measure: Measure, trained: bool, groups: &Groups) -> Svg {
    let panels: Vec<Svg> = groups.iter().map(|(widths, found)| panel(measure, widths, found)).collect();
    let kind = if trained { "trained" } else { "random" };
    Svg::stack(format!("{} of {kind} networks", measure.name()), &panels)
}

fn panel(measure: Measure, widths: &[usize], found: &Statistics) -> Svg {
    let (top, bottom, right) = (44.0, PANEL - 48.0, WIDTH - RIGHT);
    let total = found.decided.max(1) as f64;
    let most = found.histogram.iter().map(|bin| bin.2).max().unwrap_or(0) as f64 / total;
    let most = if most > 0.0 { most } else { 1.0 };
    let undecided = match found.undecided {
        0 => String::new(),
        n => format!(", {} undecided", grouped(n)),
    };
    let title = format!(
        "{}: widths {}, {} networks{undecided}",
        measure.name(),
        joined(widths, "-"),
        grouped(found.decided)
    );
    let mut content = vec![label("head", (LEFT, 24.0), &shortened(&title, 78))];
    for (share, y) in [(0.0, bottom), (most / 2.0, (top + bottom) / 2.0), (most, top)] {
        content.push(segment("grid", (LEFT, y), (right, y)));
        content.push(label("tick end", (LEFT - 8.0, y + 4.0), &format!("{share:.3}")));
    }
    let step = (right - LEFT) / found.histogram.len().max(1) as f64;
    let width = (0.8 * step).min(80.0);
    let every = found.histogram.len().div_ceil(NAMED).max(1);
    for (i, (low, high, count)) in found.histogram.iter().enumerate() {
        let height = (bottom - top) * (*count as f64 / total) / most;
        let middle = LEFT + step * (i as f64 + 0.5);
        content.push(rectangle("part-0", (middle - width / 2.0, bottom - height), (width, height)));
        if i % every == 0 {
            content.push(label("tick mid", (middle, bottom + 17.0), &value_name(measure, *low, *high)));
        }
    }
    let corner = [(LEFT, top), (LEFT, bottom), (right, bottom)];
    content.push(Element::new("path").class("axis").attr("d", polyline(&corner)));
    let mean = found.mean.map_or("nothing was decided".into(), |(mean, error)| {
        format!("share of networks; mean {mean:.4}, standard error {error:.1e}")
    });
    content.push(label("mid", (0.5 * (LEFT + right), PANEL - 10.0), &mean));
    Svg::new((WIDTH, PANEL), title.clone(), format!("{title}. {mean}."), content)
}

fn value_name(measure: Measure, low: f64, high: f64) -> String {
    match (measure.is_truth(), low == high) {
        (true, _) if low > 0.0 => "yes".into(),
        (true, _) => "no".into(),
        (false, true) => low.to_string(),
        (false, false) => format!("{low:.0} to {high:.0}"),
    }
}

/// The same as a picture of pgfplots.
pub(super) fn pgf(measure: Measure, groups: &Groups) -> String {
    let mut text = String::from(
        "% \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}\n\\begin{tikzpicture}\n\\begin{axis}[ybar, ymin=0, bar width=4pt, ",
    );
    text += &format!(
        "xlabel={{{}}}, ylabel={{share of networks}}, legend pos=outer north east]\n",
        measure.name()
    );
    for (widths, found) in groups {
        let total = found.decided.max(1) as f64;
        let place = |(low, high, count): &(f64, f64, usize)| {
            format!("({},{})", low / 2.0 + high / 2.0, *count as f64 / total)
        };
        let places: Vec<String> = found.histogram.iter().map(place).collect();
        text += &format!("\\addplot coordinates {{{}}};\n", places.join(" "));
        text += &format!("\\addlegendentry{{{}}}\n", joined(widths, "-"));
    }
    text + "\\end{axis}\n\\end{tikzpicture}\n"
}
