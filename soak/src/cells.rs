//! The truth about a pair, by decomposition of the domain into cells on which both networks are affine.
//!
//! A cell is a pointed cone in the coordinates `(t, s)`, `s >= 0`, given by its rays: a ray with `s > 0` is
//! the point `t / s`, one with `s = 0` a direction in which the cell is unbounded. Affine functions of `t`
//! are linear forms on rays. A neuron's form splits a cell by the double description step: rays on both sides
//! that share an edge give a new ray on the hyperplane. On the final cells the difference of the networks is
//! a linear form, so that its supremum is attained on rays; it is infinite iff the form is not zero on some
//! direction. Boundaries of the cells do not matter, since networks are continuous.
//!
//! Slow, complete, and no code in common with the search or the checker but the numbers.

use fiberscope_core::{Domain, Rational};

use crate::draft::{Draft, Rows};

/// A linear form on `(t, s)`, or a ray.
type Vector = Vec<Rational>;

/// The supremum of a distance.
#[derive(Clone, Debug, PartialEq)]
pub enum Supremum {
    /// It is attained.
    Finite(Rational),
    /// The distance grows beyond all bounds.
    Infinite,
}

impl Supremum {
    /// Whether it is at most this.
    pub fn is_at_most(&self, bound: &Rational) -> bool {
        matches!(self, Supremum::Finite(x) if x <= bound)
    }

    /// Whether the networks are equal.
    pub fn is_zero(&self) -> bool {
        self.is_at_most(&Rational::ZERO)
    }
}

/// Where to look: points `map (t, 1)` for the `t` at which all walls are nonnegative.
#[derive(Clone, Debug)]
pub struct Place {
    map: Vec<Vector>,
    walls: Vec<Vector>,
}

impl Place {
    /// The whole domain, with one variable per input that is not fixed.
    pub fn domain(domain: &Domain, inputs: usize) -> Self {
        let sides = domain.sides(inputs);
        let free: Vec<usize> =
            (0..inputs).filter(|&i| sides[i].lower.is_none() || sides[i].lower != sides[i].upper).collect();
        let d = free.len();
        let (mut map, mut walls) = (vec![vec![Rational::ZERO; d + 1]; inputs], Vec::new());
        for (i, side) in sides.iter().enumerate() {
            match free.iter().position(|&j| j == i) {
                Some(t) => map[i][t] = Rational::ONE,
                None => map[i][d] = side.lower.clone().unwrap_or(Rational::ZERO),
            }
        }
        let forms: Vec<Vector> = free.iter().map(|&i| map[i].clone()).collect();
        for (&i, form) in free.iter().zip(&forms) {
            walls.extend(wall(form, sides[i].lower.as_ref(), 1));
            walls.extend(wall(form, sides[i].upper.as_ref(), -1));
        }
        Place { map, walls }
    }

    /// The part of the domain on the line through a point.
    pub fn line(domain: &Domain, point: &[Rational], direction: &[Rational]) -> Self {
        let map: Vec<Vector> = point.iter().zip(direction).map(|(p, d)| vec![d.clone(), p.clone()]).collect();
        let sides = domain.sides(point.len());
        let walls = map.iter().zip(&sides).filter(|(form, _)| !form[0].is_zero()).flat_map(|(form, side)| {
            [wall(form, side.lower.as_ref(), 1), wall(form, side.upper.as_ref(), -1)]
        });
        Place { walls: walls.flatten().collect(), map }
    }
}

/// `sign (form - end) >= 0`.
fn wall(form: &[Rational], end: Option<&Rational>, sign: i64) -> Option<Vector> {
    let (end, last) = (end?, form.len() - 1);
    let mut wall: Vector = form.iter().map(|x| x * &Rational::from(sign)).collect();
    wall[last] -= &(end * &Rational::from(sign));
    Some(wall)
}

/// The supremum of the largest difference of outputs; `None` if that takes more than `budget` steps.
pub fn supremum(a: &Draft, b: &Draft, place: &Place, budget: usize) -> Option<Supremum> {
    let mut walk = Walk { networks: [a, b], largest: Rational::ZERO, infinite: false, steps: budget };
    let d = place.map[0].len() - 1;
    if d > 6 {
        return None;
    }
    for orthant in 0..1u32 << d {
        let mut cell = Some(Cell::orthant(orthant, d));
        for wall in &place.walls {
            cell = cell.and_then(|cell| cell.split(wall).0);
        }
        if let Some(cell) = cell {
            let start = Task {
                cell,
                network: 0,
                layer: 0,
                unit: 0,
                inputs: place.map.clone(),
                done: vec![],
                first: vec![],
            };
            walk.run(start)?;
            if walk.infinite {
                return Some(Supremum::Infinite);
            }
        }
    }
    Some(Supremum::Finite(walk.largest))
}

/// The supremum of the largest output, in absolute value.
pub fn largest_output(a: &Draft, place: &Place, budget: usize) -> Option<Supremum> {
    let zero = Rows {
        weight: vec![vec![Rational::ZERO; a.inputs()]; a.outputs()],
        bias: vec![Rational::ZERO; a.outputs()],
        relu: false,
    };
    supremum(a, &Draft { layers: vec![zero] }, place, budget)
}

/// Rays with the constraints on which they lie, as bits.
#[derive(Clone)]
struct Cell {
    rays: Vec<(Vector, u128)>,
    constraints: u32,
}

impl Cell {
    fn orthant(signs: u32, d: usize) -> Self {
        // Constraint i is t_i >= 0 or t_i <= 0, constraint d is s >= 0.
        let ray = |i: usize| {
            let mut ray = vec![Rational::ZERO; d + 1];
            ray[i] = Rational::from(if i < d && signs >> i & 1 == 1 { -1 } else { 1 });
            (ray, ((1u128 << (d + 1)) - 1) & !(1 << i))
        };
        Cell { rays: (0..=d).map(ray).collect(), constraints: d as u32 + 1 }
    }

    /// The parts where the form is nonnegative and where it is not positive; a part is `None` if it has no
    /// interior.
    fn split(self, form: &[Rational]) -> (Option<Cell>, Option<Cell>) {
        let values: Vec<Rational> = self.rays.iter().map(|(ray, _)| dot(form, ray)).collect();
        let (positive, negative) =
            (values.iter().any(Rational::is_positive), values.iter().any(Rational::is_negative));
        match (positive, negative) {
            (_, false) => return (Some(self), None),
            (false, true) => return (None, Some(self)),
            (true, true) => {}
        }
        let bit = 1u128.checked_shl(self.constraints).unwrap_or(0);
        let mut on = Vec::new();
        for (i, p) in values.iter().enumerate().filter(|(_, v)| v.is_positive()) {
            for (j, n) in values.iter().enumerate().filter(|(_, v)| v.is_negative()) {
                let common = self.rays[i].1 & self.rays[j].1;
                let is_edge =
                    (0..self.rays.len()).all(|k| k == i || k == j || self.rays[k].1 & common != common);
                if is_edge {
                    let ray = self.rays[i].0.iter().zip(&self.rays[j].0).map(|(x, y)| &(p * y) - &(n * x));
                    on.push((normalised(ray.collect()), common | bit));
                }
            }
        }
        let side = |sign: i8| {
            let old = self.rays.iter().zip(&values).filter(|(_, v)| v.signum() * sign >= 0);
            let old = old.map(|((ray, mask), v)| (ray.clone(), if v.is_zero() { mask | bit } else { *mask }));
            Cell { rays: old.chain(on.iter().cloned()).collect(), constraints: self.constraints + 1 }
        };
        (Some(side(1)), Some(side(-1)))
    }
}

fn normalised(ray: Vector) -> Vector {
    let last = ray.len() - 1;
    let size =
        if ray[last].is_zero() { ray.iter().map(Rational::abs).max() } else { Some(ray[last].clone()) };
    match size {
        Some(size) if size.is_positive() => ray.iter().map(|x| x / &size).collect(),
        _ => ray,
    }
}

fn dot(form: &[Rational], ray: &[Rational]) -> Rational {
    let mut sum = Rational::ZERO;
    for (x, y) in form.iter().zip(ray) {
        if !x.is_zero() && !y.is_zero() {
            sum += &(x * y);
        }
    }
    sum
}

/// A cell and how far both networks are known on it.
#[derive(Clone)]
struct Task {
    cell: Cell,
    network: usize,
    layer: usize,
    unit: usize,
    /// The inputs of the layer.
    inputs: Vec<Vector>,
    /// The outputs of the neurons before `unit`.
    done: Vec<Vector>,
    /// The outputs of the first network, once it is through.
    first: Vec<Vector>,
}

struct Walk<'a> {
    networks: [&'a Draft; 2],
    largest: Rational,
    infinite: bool,
    steps: usize,
}

impl Walk<'_> {
    fn run(&mut self, start: Task) -> Option<()> {
        let place = start.inputs.clone();
        let mut tasks = vec![start];
        while let Some(mut task) = tasks.pop() {
            let rows = &self.networks[task.network].layers[task.layer];
            if task.unit < rows.width() {
                self.steps = self.steps.checked_sub(1 + task.cell.rays.len() / 4)?;
                self.neuron(task, &mut tasks)?;
                continue;
            }
            let outputs = std::mem::take(&mut task.done);
            (task.layer, task.unit) = (task.layer + 1, 0);
            if task.layer < self.networks[task.network].layers.len() {
                tasks.push(Task { inputs: outputs, ..task });
            } else if task.network == 0 {
                tasks.push(Task { network: 1, layer: 0, inputs: place.clone(), first: outputs, ..task });
            } else {
                self.compare(&task.cell, &task.first, &outputs);
                if self.infinite {
                    return Some(());
                }
            }
        }
        Some(())
    }

    fn neuron(&self, mut task: Task, tasks: &mut Vec<Task>) -> Option<()> {
        let rows = &self.networks[task.network].layers[task.layer];
        let d = task.inputs[0].len() - 1;
        let mut form = vec![Rational::ZERO; d + 1];
        for (w, input) in rows.weight[task.unit].iter().zip(&task.inputs).filter(|(w, _)| !w.is_zero()) {
            form.iter_mut().zip(input).for_each(|(sum, x)| *sum += &(w * x));
        }
        form[d] += &rows.bias[task.unit];
        task.unit += 1;
        if !rows.relu {
            task.done.push(form);
            tasks.push(task);
            return Some(());
        }
        if task.cell.constraints >= 127 {
            return None;
        }
        let (on, off) = task.cell.clone().split(&form);
        for (part, value) in [(on, form), (off, vec![Rational::ZERO; d + 1])] {
            if let Some(cell) = part {
                let mut next = task.clone();
                next.cell = cell;
                next.done.push(value);
                tasks.push(next);
            }
        }
        Some(())
    }

    fn compare(&mut self, cell: &Cell, a: &[Vector], b: &[Vector]) {
        for (f, g) in a.iter().zip(b).filter(|(f, g)| f != g) {
            let difference: Vector = f.iter().zip(g).map(|(x, y)| x - y).collect();
            for (ray, _) in &cell.rays {
                let value = dot(&difference, ray).abs();
                let s = &ray[ray.len() - 1];
                if !s.is_zero() {
                    self.largest = (&value / s).max(self.largest.clone());
                } else if !value.is_zero() {
                    self.infinite = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(hidden: &[(&[i64], i64)], out: &[i64]) -> Draft {
        let r = Rational::from;
        let row = |w: &[i64]| w.iter().map(|&w| r(w)).collect::<Vec<_>>();
        let first = Rows {
            weight: hidden.iter().map(|(w, _)| row(w)).collect(),
            bias: hidden.iter().map(|(_, b)| r(*b)).collect(),
            relu: true,
        };
        Draft { layers: vec![first, Rows { weight: vec![row(out)], bias: vec![r(0)], relu: false }] }
    }

    #[test]
    fn suprema_of_small_pairs() {
        let check = |a: &Draft, b: &Draft, sides: Option<(f64, f64)>, expected: Supremum| {
            let n = a.inputs();
            let domain = sides.map_or(Domain::Space, |side| Domain::from_bounds(&vec![side; n]).unwrap());
            let found = supremum(a, b, &Place::domain(&domain, n), 100_000);
            assert_eq!(found, Some(expected), "{domain:?}");
        };
        let r = Rational::from;
        let relu = draft(&[(&[1], 0)], &[1]);
        let bump = draft(&[(&[1], 0), (&[1], -2)], &[1, 1000]);
        check(&relu, &bump, None, Supremum::Infinite);
        check(&relu, &bump, Some((-1.0, 1.0)), Supremum::Finite(r(0)));
        check(&relu, &bump, Some((-5.0, 5.0)), Supremum::Finite(r(3000)));
        check(&relu, &bump, Some((3.0, 3.0)), Supremum::Finite(r(1000)));
        // |x| + |y| written with opposite signs, and without one of the four.
        let norm = draft(&[(&[1, 0], 0), (&[-1, 0], 0), (&[0, 1], 0), (&[0, -1], 0)], &[1, 1, 1, 1]);
        let turned = draft(&[(&[0, -1], 0), (&[-1, 0], 0), (&[0, 1], 0), (&[1, 0], 0)], &[1, 1, 1, 1]);
        let less = draft(&[(&[1, 0], 0), (&[-1, 0], 0), (&[0, 1], 0)], &[1, 1, 1]);
        check(&norm, &turned, None, Supremum::Finite(r(0)));
        check(&norm, &less, None, Supremum::Infinite);
        check(&norm, &less, Some((-7.0, 2.0)), Supremum::Finite(r(7)));
        // A hat between 0 and 2 is bounded on the whole line.
        let hat = draft(&[(&[1], 0), (&[1], -1), (&[1], -2)], &[3, -6, 3]);
        let nothing = draft(&[(&[0], 0)], &[0]);
        check(&hat, &nothing, None, Supremum::Finite(r(3)));
    }
}
