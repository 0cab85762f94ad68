//! A boundary followed from cell to cell of the known layers.
//!
//! Within a cell of the known layers the boundary of a neuron of the next layer is a piece of a hyperplane,
//! and at a wall of the cell it bends: the gradient `g` of the neuron changes by a multiple of the wall's
//! normal `v`, since both sides are equal on the wall. So one point of the piece beyond the wall tells
//! `g' = g + omega v`, without loss of scale [rolnick2020reverse, Theorem 4]. Every cell with derivative `G`
//! of the features then has the equations `G^T w = g`, and enough cells tell `w`, however many features are on
//! at once: what one cell cannot tell where there are more of them than inputs. A boundary that bends inside
//! of a cell is that of a neuron further on.

use super::inquiry::{Halt, Inquiry};
use super::line::Sweep;
use super::open::{Open, Piece, solve};
use super::prefix::Prefix;
use super::probe::meeting;
use fiberscope_algebra::dense::{along, direction, dot, minus, norm, peak, scaled};

/// Walls that are crossed for every feature, and beyond that.
const CROSSINGS_PER_FEATURE: usize = 2;
const MORE_CROSSINGS: usize = 10;

/// Steps that lead nowhere, one after the other, before it is given up.
const MOST_FRUITLESS: usize = 6;

/// Pieces from which on a boundary that is not seen somewhere is one of the layer all the same.
const ENOUGH_PIECES: usize = 3;

/// Where on the way to a wall a piece is looked for.
const LOOKED_FOR: [f64; 3] = [0.9, 0.6, 0.3];

/// Ways of which one is chosen.
const WAYS_LOOKED_AT: usize = 30;

/// How far out a boundary is followed, in radii.
const FARTHEST: f64 = 40.0;

/// A distance to a wall that is none, in radii.
const NO_WALL: f64 = 1e-9;

/// What became of a step.
enum Step {
    /// Beyond the wall, and the way on from it.
    Beyond(Piece, Vec<f64>),
    /// Nothing can be seen there, or it is too far.
    End,
    /// The boundary is not where it should be inside of the cell.
    Lost,
}

/// Follows the boundary through `x`, where the gradient of the function jumps by a multiple of `jump`; the
/// weights as far as they are determined, `None` if it is no boundary of a neuron behind the prefix.
pub(super) fn trace(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    x: &[f64],
    jump: &[f64],
) -> Result<Option<Open>, Halt> {
    let Some(g) = direction(jump) else { return Ok(None) };
    let mut pieces = vec![Piece { x: x.to_vec(), g }];
    let mut ways = Ways::new(inquiry, &pieces[0]);
    let mut fruitless = 0;
    for _ in 0..CROSSINGS_PER_FEATURE * prefix.width() + MORE_CROSSINGS {
        let Some(open) = solve(prefix, &pieces) else { return Ok(None) };
        if open.boundary.known.iter().all(|known| *known) {
            return Ok(Some(open));
        }
        if fruitless > MOST_FRUITLESS {
            break;
        }
        let Some((from, way)) = ways.next(inquiry, prefix, &pieces, &open) else { break };
        match cross(inquiry, prefix, &pieces[from].clone(), &way)? {
            Step::Beyond(next, onward) => {
                fruitless = 0;
                ways.add(pieces.len(), onward);
                pieces.push(next);
            }
            Step::End => fruitless += 1,
            // Where boundaries are crowded one may look lost that is not.
            Step::Lost if pieces.len() >= ENOUGH_PIECES => fruitless += 1,
            Step::Lost => return Ok(None),
        }
    }
    Ok(solve(prefix, &pieces))
}

/// Which way to go next.
enum Ways {
    /// In the plane there are two, and each is followed to its end: pieces and directions.
    Plane(Vec<(usize, Vec<f64>)>),
    /// Elsewhere there are many, of which those are taken that lead to a feature whose weight is not known.
    Space,
}

impl Ways {
    fn new(inquiry: &Inquiry<'_>, first: &Piece) -> Self {
        if inquiry.inputs != 2 {
            return Ways::Space;
        }
        let tangent = vec![-first.g[1], first.g[0]];
        Ways::Plane(vec![(0, scaled(&tangent, -1.0)), (0, tangent)])
    }

    fn add(&mut self, piece: usize, onward: Vec<f64>) {
        if let Ways::Plane(ways) = self {
            ways.push((piece, onward));
        }
    }

    fn next(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        pieces: &[Piece],
        open: &Open,
    ) -> Option<(usize, Vec<f64>)> {
        if let Ways::Plane(ways) = self {
            return ways.pop();
        }
        let mut any = None;
        for _ in 0..WAYS_LOOKED_AT {
            let from = inquiry.below(pieces.len());
            let Piece { x, g } = &pieces[from];
            let way = inquiry.direction();
            let Some(way) = direction(&along(&way, -dot(&way, g) / dot(g, g), g)) else { continue };
            let walls = prefix.local(x).walls;
            let Some((_, wall)) = next_wall(inquiry, &walls, &way) else { continue };
            let feature = wall.checked_sub(walls.len() - prefix.width());
            if feature.is_some_and(|k| open.leaves_open(k)) {
                return Some((from, way));
            }
            any = Some((from, way));
        }
        any
    }
}

/// The first wall on the way: how far it is, and which.
fn next_wall(inquiry: &Inquiry<'_>, walls: &[(f64, Vec<f64>)], way: &[f64]) -> Option<(f64, usize)> {
    let far = |(i, (z, v)): (usize, &(f64, Vec<f64>))| {
        let t = -z / dot(v, way);
        (t > 1e-9 * inquiry.radius && t.is_finite()).then_some((t, i))
    };
    walls.iter().enumerate().filter_map(far).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Goes along the piece, about the way that is wanted, to the next wall and across it.
fn cross(inquiry: &mut Inquiry<'_>, prefix: &Prefix, piece: &Piece, way: &[f64]) -> Result<Step, Halt> {
    let Piece { x, g } = piece;
    let square = dot(g, g);
    let Some(way) = direction(&along(way, -dot(way, g) / square, g)) else { return Ok(Step::End) };
    // Along the wall that is met first.
    let here = prefix.local(x);
    let Some((t, index)) = next_wall(inquiry, &here.walls, &way) else { return Ok(Step::End) };
    let v = &here.walls[index].1;
    let wall = along(x, t, &way);
    if peak(&wall) > FARTHEST * inquiry.radius {
        return Ok(Step::End);
    }
    let Some(normal) = direction(&scaled(v, dot(v, &way).signum())) else { return Ok(Step::End) };
    // The piece must be there just before the wall.
    let Some(m) = direction(g) else { return Ok(Step::End) };
    let mut found = false;
    for share in LOOKED_FOR {
        match seen(inquiry, prefix, &along(x, share * t, &way), &m)? {
            Seen::At(off) if off.abs() < 1e-6 * inquiry.radius => found = true,
            Seen::Dark => return Ok(Step::End),
            _ => continue,
        }
        break;
    }
    if !found {
        return Ok(Step::Lost);
    }
    // Along the wall, a little beyond it.
    let Some(side) = direction(&along(g, -dot(g, &normal), &normal)) else { return Ok(Step::End) };
    let room = |x: &[f64]| {
        let others = prefix.local(x).walls;
        // The wall itself, and features that carry it past a layer, do not count.
        let far = |(z, u): &(f64, Vec<f64>)| z.abs() / norm(u).max(1e-300);
        others.iter().map(far).filter(|far| *far > NO_WALL * inquiry.radius).fold(inquiry.radius, f64::min)
    };
    let room = room(&wall);
    for share in [0.1, 0.02] {
        let depth = share * room;
        if depth < 1e-6 * inquiry.radius {
            break;
        }
        let start = along(&wall, depth, &normal);
        let reach = 0.95 * room;
        let known = prefix.flips(&start, &side, -reach, reach);
        let sweep = Sweep { x: &start, u: &side, from: -reach, to: reach, known, grid: Vec::new() };
        for kink in sweep.kinks(inquiry)? {
            let found = minus(&kink.x, &wall);
            let across = dot(v, &found);
            if across == 0.0 {
                continue;
            }
            let bent = along(g, -dot(g, &found) / across, v);
            if let Some(next) = confirmed(inquiry, prefix, &wall, &kink.x, &bent, g, v)? {
                let onward = minus(&next.x, &wall);
                return Ok(Step::Beyond(next, onward));
            }
        }
    }
    Ok(Step::End)
}

/// Whether the piece that begins at the wall and has this gradient is seen farther away, too; then more
/// precisely.
fn confirmed(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    wall: &[f64],
    x: &[f64],
    bent: &[f64],
    g: &[f64],
    v: &[f64],
) -> Result<Option<Piece>, Halt> {
    let Some(m) = direction(bent) else { return Ok(None) };
    let onward = minus(x, wall);
    let here = prefix.local(x);
    // The next wall on the way.
    let free = here
        .walls
        .iter()
        .map(|(z, u)| -z / dot(u, &onward))
        .filter(|t| *t > 1e-9)
        .fold(FARTHEST * inquiry.radius / norm(&onward), f64::min);
    let mut best = None;
    for share in [0.5, 0.2] {
        let at = along(x, share * free, &onward);
        let Seen::At(off) = seen(inquiry, prefix, &at, &m)? else { continue };
        let found = minus(&along(&at, off, &m), wall);
        let across = dot(v, &found);
        if off.abs() > 1e-4 * norm(&found) || across == 0.0 {
            continue;
        }
        let g = along(g, -dot(g, &found) / across, v);
        best = Some(Piece { x: along(&at, off, &m), g });
        break;
    }
    Ok(best)
}

/// What a look across a predicted piece sees.
enum Seen {
    /// A kink this far from where it was predicted.
    At(f64),
    /// No kink, and nothing could be seen: the function is constant.
    Dark,
    /// No kink.
    Nothing,
}

fn seen(inquiry: &mut Inquiry<'_>, prefix: &Prefix, x: &[f64], m: &[f64]) -> Result<Seen, Halt> {
    let room = prefix.local(x).room(m);
    let far = (0.4 * room).min(0.02 * inquiry.radius);
    let mut dark = true;
    for a in [far, far / 8.0, far / 64.0] {
        if a < 1e-7 * inquiry.radius {
            break;
        }
        let look = meeting(inquiry, x, m, a)?;
        if let Some(t) = look.t.filter(|t| t.abs() < 0.05 * a + look.error) {
            return Ok(Seen::At(t));
        }
        dark &= look.t.is_none() && look.slope < 40.0 * inquiry.noise_at(x) / a;
        if dark {
            break;
        }
    }
    Ok(if dark { Seen::Dark } else { Seen::Nothing })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use fiberscope_algebra::dense::row_times;
    use fiberscope_core::{Activation, Layer, Network};

    use super::super::carry::Carry;
    use super::super::first::Row;
    use super::super::inquiry::measure_noise;
    use super::super::prefix::Rows;
    use super::super::{ExtractOptions, NetworkOracle};
    use super::*;

    /// Rows of numbers without a pattern between -1 and 1.
    fn rows(count: usize, width: usize, seed: usize) -> Vec<Row> {
        let number = |k: usize| {
            let x = ((1000 * seed + k) as f64 * 12.9898).sin() * 43_758.545_3;
            2.0 * (x - x.floor()) - 1.0
        };
        let row = |j: usize| {
            let w = (0..width).map(|i| number(j * (width + 1) + i)).collect();
            (w, 0.5 * number(j * (width + 1) + width))
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn boundaries_are_followed_where_features_are_carried_past_a_layer() {
        let parts = [rows(6, 2, 1), rows(6, 6, 2), rows(4, 6, 3), rows(1, 4, 4)];
        let layers = parts.iter().enumerate().map(|(l, part)| {
            let all = Rows::new(part).unwrap();
            let activation = if l == 3 { Activation::Identity } else { Activation::Relu };
            Layer::new(all.weight, all.bias, activation)
        });
        let mut oracle = NetworkOracle::new(Network::new(layers.collect()).unwrap());
        let options = ExtractOptions::new();
        let mut inquiry = Inquiry::new(&mut oracle, &options).unwrap();
        measure_noise(&mut inquiry).unwrap();
        let first = Prefix::empty(2).extended(Rows::new(&parts[0]).unwrap());
        let whole = first.extended(Rows::new(&parts[1]).unwrap());
        let (carried, carry) = Carry::rows(&first, &parts[1], 3.0).unwrap();
        let behind = first.extended(carried);
        let mut longest = 0;
        for line in 0..30 {
            let (start, way) = (inquiry.point(0.5), inquiry.direction());
            let (w, b) = &parts[2][line % 4];
            let z = |t: f64| dot(w, &whole.hidden(&along(&start, t, &way))) + b;
            let Some(k) = (-60..60).find(|&k| z(0.05 * f64::from(k)) * z(0.05 * f64::from(k + 1)) < 0.0)
            else {
                continue;
            };
            let (mut from, mut to) = (0.05 * f64::from(k), 0.05 * f64::from(k + 1));
            for _ in 0..60 {
                let middle = 0.5 * (from + to);
                if z(from) * z(middle) <= 0.0 { to = middle } else { from = middle }
            }
            let x = along(&start, from, &way);
            let jump = row_times(w, &whole.local(&x).gradient);
            let (turned, _) = carry.off_at(&behind, &x);
            if let Some(open) = trace(&mut inquiry, &turned, &x, &jump).unwrap() {
                longest = longest.max(open.pieces.len());
            }
        }
        assert!(longest > 8, "no boundary was followed farther than over {longest} pieces");
    }
}
