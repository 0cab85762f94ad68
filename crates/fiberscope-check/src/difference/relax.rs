//! What a ReLU does to bounds: slopes, bands and the choice of a form for `e` (lemmas R0, R4, R5, R7).
//!
//! Slopes are multiples of `2^-12` in `[0, 1]`, so that `1 - slope` and differences of slopes are exact.
//! Whether a neuron is off, on or open is decided by its bounds alone: an open neuron whose slope rounds to 0
//! or 1 keeps its band.
//!
//! Choices depend on bounds, and two checkers that add in different orders have bounds that differ by
//! rounding. So slopes are continuous functions of the bounds where a bound passes 0, and what is compared or
//! rounded is compared and rounded a little beside the numbers at which bounds meet by construction (equal
//! bounds of a symmetric box, half a step): [`TIE`].

use super::UP;

/// What is known about the sign of a pre-activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// At most 0.
    Off,
    /// At least 0.
    On,
    /// Not known.
    Open,
}

pub(super) fn phase(lower: f64, upper: f64) -> Phase {
    match () {
        () if upper <= 0.0 => Phase::Off,
        () if lower >= 0.0 => Phase::On,
        () => Phase::Open,
    }
}

/// One over the distance of two slopes.
const STEPS: f64 = 4096.0;

/// What is not larger than something else by more than this part of it is taken for equal.
const TIE: f64 = 1.0 / (1 << 20) as f64;

/// `part / whole` for `0 <= part <= whole`, rounded to a slope.
pub(super) fn slope(part: f64, whole: f64) -> f64 {
    let steps = (part / whole * STEPS + (0.5 - TIE)) as u32;
    f64::from(steps.min(STEPS as u32)) / STEPS
}

/// The slope of the chord of a ReLU on an interval around 0.
pub(super) fn chord(lower: f64, upper: f64) -> f64 {
    slope(upper, upper - lower)
}

/// At least what was to be computed with two roundings: `(1 + 4u)(1 - u)^3 > 1`, and what is lost where a
/// product is not normal is less than `1e-300`.
fn raise(x: f64) -> f64 {
    x * UP + 1e-300
}

/// R4: `0 <= relu(t) - slope t <= h` on an interval around 0.
pub(super) fn relu_band(slope: f64, lower: f64, upper: f64) -> f64 {
    raise((-slope * lower).max((1.0 - slope) * upper))
}

/// R5: `-Q <= e - slope d <= H` for `d` in `[lower, upper]`: `(H, Q)`.
pub(super) fn difference_band(slope: f64, lower: f64, upper: f64) -> (f64, f64) {
    let above = ((1.0 - slope) * upper).max(-slope * lower).max(0.0);
    let below = (-(1.0 - slope) * lower).max(slope * upper).max(0.0);
    (raise(above), raise(below))
}

/// `a = slope z + offset + radius s` with a new symbol `s`; an open neuron has `offset = radius`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    pub phase: Phase,
    pub slope: f64,
    pub radius: f64,
}

/// The form of `a` (R0, R4).
pub(super) fn activation(lower: f64, upper: f64) -> Activation {
    let phase = phase(lower, upper);
    let (slope, radius) = match phase {
        Phase::Off => (0.0, 0.0),
        Phase::On => (1.0, 0.0),
        Phase::Open => {
            let slope = chord(lower, upper);
            (slope, 0.5 * relu_band(slope, lower, upper))
        }
    };
    Activation { phase, slope, radius }
}

/// The form of `e`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// `0`: both are off.
    Zero,
    /// `d`: both are on.
    Same,
    /// `slope d + offset + radius s` (R5).
    Band { slope: f64, offset: f64, radius: f64 },
    /// `slope (z + d) + radius + radius s - a` (R4 on `y`), without a symbol where B is on (slope 1) or off
    /// (slope 0).
    Apart { slope: f64, radius: f64 },
}

/// The form of `e` for a neuron: the exact one where there is one, or that with the smaller radius.
pub(super) fn change(a: &Activation, (dl, du): (f64, f64), (yl, yu): (f64, f64)) -> Change {
    let of_b = phase(yl, yu);
    match (a.phase, of_b) {
        (Phase::Off, Phase::Off) => return Change::Zero,
        (Phase::On, Phase::On) => return Change::Same,
        (Phase::Off, Phase::On) => return Change::Apart { slope: 1.0, radius: 0.0 },
        (Phase::On, Phase::Off) => return Change::Apart { slope: 0.0, radius: 0.0 },
        _ => {}
    }
    let slope = 0.5;
    let (above, below) = difference_band(slope, dl, du);
    let band = Change::Band { slope, offset: 0.5 * (above - below), radius: 0.5 * (above + below) * UP };
    let apart = match activation(yl, yu) {
        Activation { phase: Phase::Open, slope, radius } => Change::Apart { slope, radius },
        Activation { slope, .. } => Change::Apart { slope, radius: 0.0 },
    };
    let (Change::Band { radius: of_band, .. }, Change::Apart { radius, .. }) = (band, apart) else {
        return band;
    };
    if of_band * (1.0 + TIE) < a.radius + radius { band } else { apart }
}

/// An affine function `z_slope z + d_slope d + offset` of a neuron's `z` and `d`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub z: f64,
    pub d: f64,
    pub offset: f64,
}

/// The lines of R7 that bound `a` and `e` of one neuron.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    pub a_upper: Line,
    pub a_lower: Line,
    pub e_upper: Line,
    pub e_lower: Line,
    /// Whether the upper and the lower line of `e` are those of R5; otherwise they are those of R3.
    pub band: (bool, bool),
    /// For A and for B: the slope of the upper line of relu, and that (0 or 1) of the lower line.
    pub triangle_a: (f64, f64),
    pub triangle_b: (f64, f64),
    /// How far apart the lines of `a` are at most.
    pub a_gap: f64,
    /// How far apart the lines of `e` are in the middle.
    pub e_gap: f64,
}

impl Lines {
    /// The lines of a neuron without activation: `a = z`, `e = d`.
    pub fn identity() -> Self {
        let a = Line { z: 1.0, d: 0.0, offset: 0.0 };
        let e = Line { z: 0.0, d: 1.0, offset: 0.0 };
        Lines { a_upper: a, a_lower: a, e_upper: e, e_lower: e, ..Lines::default() }
    }

    /// The lines of a ReLU neuron.
    pub fn relu((zl, zu): (f64, f64), (dl, du): (f64, f64), (yl, yu): (f64, f64)) -> Self {
        let (chord_a, height_a, flat_a) = triangle(zl, zu);
        let (chord_b, height_b, flat_b) = triangle(yl, yu);
        // R5 with the slopes of the chords of max(0, d) and min(0, d).
        let (rising, falling) = match () {
            () if dl >= 0.0 => (1.0, 0.0),
            () if du <= 0.0 => (0.0, 1.0),
            () => (slope(du, du - dl), slope(-dl, du - dl)),
        };
        let upper = Line { z: 0.0, d: rising, offset: difference_band(rising, dl, du).0 };
        let lower = Line { z: 0.0, d: falling, offset: -difference_band(falling, dl, du).1 };
        // R3 with R4 in the place of the chords.
        let apart_upper = Line { z: chord_b - flat_a, d: chord_b, offset: height_b };
        let apart_lower = Line { z: flat_b - chord_a, d: flat_b, offset: -height_a };
        let z = 0.5 * (zl.max(yl - du) + zu.min(yu - dl));
        let d = 0.5 * (dl + du);
        let at = |line: &Line| line.z * z + line.d * d + line.offset;
        let tie = TIE * (zu - zl + du - dl);
        let band = (at(&upper) + tie < at(&apart_upper), at(&lower) - tie > at(&apart_lower));
        let e_upper = if band.0 { upper } else { apart_upper };
        let e_lower = if band.1 { lower } else { apart_lower };
        Lines {
            a_upper: Line { z: chord_a, d: 0.0, offset: height_a },
            a_lower: Line { z: flat_a, d: 0.0, offset: 0.0 },
            e_upper,
            e_lower,
            band,
            triangle_a: (chord_a, flat_a),
            triangle_b: (chord_b, flat_b),
            a_gap: height_a,
            e_gap: (at(&e_upper) - at(&e_lower)).max(0.0),
        }
    }
}

/// Slope and height of an upper line of relu, and the slope (0 or 1) of a lower line through 0.
fn triangle(lower: f64, upper: f64) -> (f64, f64, f64) {
    match phase(lower, upper) {
        Phase::Off => (0.0, 0.0, 0.0),
        Phase::On => (1.0, 0.0, 1.0),
        Phase::Open => {
            let slope = chord(lower, upper);
            let steep = upper > -lower * (1.0 + TIE);
            (slope, relu_band(slope, lower, upper), if steep { 1.0 } else { 0.0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds `[zl, zu]`, `[dl, du]`, `[yl, yu]` around a point, and the point.
    fn samples() -> Vec<([f64; 6], f64, f64)> {
        let steps = [-3.0, -1.0, -1e-5, 0.0, 2e-4, 0.5, 2.0];
        let mut out = Vec::new();
        for z in steps {
            for d in steps {
                for (below, above) in [(0.0, 0.0), (1e-5, 3.0), (2.0, 1e-7), (0.7, 0.9)] {
                    let y: f64 = z + d;
                    let bounds = [z - below, z + above, d - above, d + below, y - below, y + above];
                    out.push((bounds, z, d));
                }
            }
        }
        out
    }

    #[test]
    fn every_line_bounds_its_function() {
        for ([zl, zu, dl, du, yl, yu], z, d) in samples() {
            let (a, e) = (z.max(0.0), (z + d).max(0.0) - z.max(0.0));
            let lines = Lines::relu((zl, zu), (dl, du), (yl, yu));
            let at = |line: &Line| line.z * z + line.d * d + line.offset;
            let slack = 1e-15;
            assert!(at(&lines.a_lower) <= a + slack && a <= at(&lines.a_upper) + slack, "{zl} {z} {zu}");
            assert!(at(&lines.e_lower) <= e + slack && e <= at(&lines.e_upper) + slack, "{zl} {z} {zu} {d}");
        }
    }

    #[test]
    fn every_form_contains_its_function() {
        for ([zl, zu, dl, du, yl, yu], z, d) in samples() {
            let (a, e) = (z.max(0.0), (z + d).max(0.0) - z.max(0.0));
            let form = activation(zl, zu);
            assert!((a - form.slope * z - form.radius).abs() <= form.radius + 1e-15);
            let (rest, radius) = match change(&form, (dl, du), (yl, yu)) {
                Change::Zero => (e, 0.0),
                Change::Same => (e - d, 0.0),
                Change::Band { slope, offset, radius } => (e - slope * d - offset, radius),
                Change::Apart { slope, radius } => (e + a - slope * (z + d) - radius, radius),
            };
            assert!(rest.abs() <= radius + 1e-15, "{zl} {z} {zu} {d}");
        }
    }

    #[test]
    fn slopes_are_short_and_open_neurons_stay_open() {
        assert_eq!(slope(1.0, 3.0), 1365.0 / 4096.0);
        assert_eq!(slope(1e-5, 1.0), 0.0);
        assert_eq!(slope(1.0, f64::INFINITY), 0.0);
        let low = activation(-1.0, 1e-4);
        assert!(low.phase == Phase::Open && low.slope == 0.0 && 2.0 * low.radius >= 1e-4);
        let high = activation(-1e-4, 1.0);
        assert!(high.phase == Phase::Open && high.slope == 1.0 && 2.0 * high.radius >= 1e-4);
    }
}
