//! Classes of parameters: how many neurons are of which kind, and their enumeration.

use super::super::layer::Ground;

/// How many neurons there are of each kind and orientation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Per visible hyperplane the numbers of neurons with its normal and with the opposite one.
    pub visible: Vec<(usize, usize)>,
    /// Per cancelling group the numbers of neurons of either orientation, the larger number first; groups in
    /// decreasing order.
    pub cancelling: Vec<(usize, usize)>,
    /// The linear neurons.
    pub linear: usize,
    /// The dead neurons.
    pub dead: usize,
}

impl Class {
    /// The equations and inequalities of the class, as lines of text; neurons are numbered in the order
    /// hyperplanes, groups, linear, dead.
    pub fn constraints(&self, ground: Ground) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = 1;
        let mut range = |count: usize| {
            let from = next;
            next += count;
            match count {
                1 => format!("{from}"),
                _ => format!("{from}..{}", from + count - 1),
            }
        };
        for (i, &(plus, minus)) in self.visible.iter().enumerate() {
            let h = i + 1;
            let (mut sides, mut sum) = (Vec::new(), Vec::new());
            for (count, sign) in [(plus, ""), (minus, "-")] {
                if count > 0 {
                    let units = range(count);
                    sides.push(format!("(w_j, c_j) = {sign}(u_{h}, t_{h}) for j = {units}"));
                    sum.push(units);
                }
            }
            lines.push(format!(
                "on H_{h}: {}; sum of V_j over j = {} is a_{h}",
                sides.join(", "),
                sum.join(", ")
            ));
        }
        for (k, &(plus, minus)) in self.cancelling.iter().enumerate() {
            let mut sides = vec![format!("(w_j, c_j) = (v_{0}, r_{0}) for j = {1}", k + 1, range(plus))];
            if minus > 0 {
                sides.push(format!("(w_j, c_j) = -(v_{0}, r_{0}) for j = {1}", k + 1, range(minus)));
            }
            lines.push(format!(
                "cancelling group {}: {}, on no H_i; their V_j add up to 0",
                k + 1,
                sides.join(", ")
            ));
        }
        let (linear, dead) = match ground {
            Ground::Orthant => ("w_j >= 0, c_j >= 0", "w_j <= 0, c_j <= 0"),
            Ground::Space => ("w_j = 0, c_j >= 0", "w_j = 0, c_j <= 0"),
        };
        if self.linear > 0 {
            lines.push(format!("linear: {linear} for j = {}", range(self.linear)));
        }
        if self.dead > 0 {
            lines.push(format!("dead: {dead} for j = {}, V_j free", range(self.dead)));
        }
        lines.push("the affine map at x_0 is A_0 x + b_0".into());
        lines
    }
}

/// Numbers of neurons per hyperplane and orientation, and how many neurons are left.
type Counts = (Vec<(usize, usize)>, usize);

/// Numbers of neurons per visible hyperplane, at least one each, and how many are left.
pub(super) fn visible_counts(hyperplanes: usize, neurons: usize) -> Box<dyn Iterator<Item = Counts>> {
    if hyperplanes == 0 {
        return Box::new(std::iter::once((Vec::new(), neurons)));
    }
    if neurons < hyperplanes {
        return Box::new(std::iter::empty());
    }
    Box::new((1..=neurons + 1 - hyperplanes).flat_map(move |total| {
        visible_counts(hyperplanes - 1, neurons - total).flat_map(move |(rest, left)| {
            (0..=total).map(move |minus| {
                let mut visible = vec![(total - minus, minus)];
                visible.extend(&rest);
                (visible, left)
            })
        })
    }))
}

/// The ways to form groups of `neurons` neurons, none larger (in the order of pairs) than `largest`.
pub(super) fn groups(
    neurons: usize,
    largest: (usize, usize),
) -> Box<dyn Iterator<Item = Vec<(usize, usize)>>> {
    if neurons == 0 {
        return Box::new(std::iter::once(Vec::new()));
    }
    let heads =
        (1..=neurons).flat_map(move |plus| (0..=plus.min(neurons - plus)).map(move |minus| (plus, minus)));
    Box::new(heads.filter(move |head| *head <= largest).flat_map(move |head| {
        groups(neurons - head.0 - head.1, head).map(move |mut rest| {
            rest.insert(0, head);
            rest
        })
    }))
}
