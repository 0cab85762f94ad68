//! Whether a claim holds, and numbers with their intervals.

use fiberscope::train::Estimate;

/// Whether the paper's claim holds in these runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStanding {
    Holds,
    /// The means are as claimed, but no further apart than chance makes them.
    NotSignificant,
    /// The means are not as claimed, but no further away from it than chance makes them.
    Open,
    /// Fewer than two runs count where an interval is needed.
    TooFew,
    Fails,
}

impl ClaimStanding {
    /// From what supports a claim to what refutes it.
    pub fn rank(self) -> u8 {
        match self {
            ClaimStanding::Holds => 0,
            ClaimStanding::NotSignificant => 1,
            ClaimStanding::Open => 2,
            ClaimStanding::TooFew => 3,
            ClaimStanding::Fails => 4,
        }
    }

    /// Whether the averages are as claimed, whether clearly so, and whether clearly not.
    pub fn decide(average: bool, clear: bool, contrary: bool) -> Self {
        match (average, clear, contrary) {
            (true, true, _) => ClaimStanding::Holds,
            (true, false, _) => ClaimStanding::NotSignificant,
            (false, _, false) => ClaimStanding::Open,
            (false, _, true) => ClaimStanding::Fails,
        }
    }

    /// Whether all these means are above their borders, with 95 % confidence each.
    pub fn above(means: &[(Estimate, f64)]) -> Self {
        if means.iter().any(|(mean, _)| mean.count < 2) {
            return ClaimStanding::TooFew;
        }
        let all = |widths: f64| means.iter().all(|(e, border)| e.mean + widths * e.half_width() > *border);
        ClaimStanding::decide(all(0.0), all(-1.0), !all(1.0))
    }

    pub fn words(self) -> &'static str {
        match self {
            ClaimStanding::Holds => "the claim holds here",
            ClaimStanding::NotSignificant => "as claimed on average, but within the errors",
            ClaimStanding::Open => "not as claimed on average, but within the errors",
            ClaimStanding::TooFew => "not decided: too few runs count",
            ClaimStanding::Fails => "the claim does not hold here",
        }
    }
}

/// `12.3 ± 0.4`, the second number being half the interval of 95 % confidence.
pub fn interval(estimate: &Estimate) -> String {
    show(&Estimate { error: estimate.half_width(), ..*estimate })
}

/// `12.3 ± 0.4`.
pub fn show(estimate: &Estimate) -> String {
    let digits = if estimate.mean.abs() < 10.0 { 2 } else { 1 };
    match (estimate.count, estimate.error.is_nan()) {
        (0, _) => "-".into(),
        (_, true) => format!("{:.digits$}", estimate.mean),
        _ => format!("{:.digits$} ± {:.digits$}", estimate.mean, estimate.error),
    }
}
