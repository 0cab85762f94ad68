//! The slow and obvious way for two inputs: the box is cut into polygons on which both networks are affine, each
//! in exact arithmetic, and the inputs of a polygon where the class changes are a polygon again.

use std::slice::from_ref;

use fiberscope::{Activation, Network, Rational};

pub type Point = [Rational; 2];

/// `c . x + k`.
#[derive(Clone)]
pub struct Affine {
    c: [Rational; 2],
    k: Rational,
}

impl Affine {
    fn at(&self, x: &Point) -> Rational {
        &(&(&self.c[0] * &x[0]) + &(&self.c[1] * &x[1])) + &self.k
    }

    fn zero() -> Self {
        Affine { c: [Rational::ZERO, Rational::ZERO], k: Rational::ZERO }
    }

    fn add(&mut self, other: &Affine, factor: &Rational) {
        for i in 0..2 {
            self.c[i] += &(&other.c[i] * factor);
        }
        self.k += &(&other.k * factor);
    }

    fn less(&self, other: &Affine) -> Affine {
        let mut difference = self.clone();
        difference.add(other, &-Rational::ONE);
        difference
    }
}

/// The part of a convex polygon where a function is not negative; points and segments are polygons too.
fn clip(polygon: &[Point], f: &dyn Fn(&Point) -> Rational) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for (i, p) in polygon.iter().enumerate() {
        let q = &polygon[(i + 1) % polygon.len()];
        let (at_p, at_q) = (f(p), f(q));
        if !at_p.is_negative() {
            kept.push(p.clone());
        }
        if (at_p.is_negative() && at_q.is_positive()) || (at_p.is_positive() && at_q.is_negative()) {
            let t = &at_p / &(&at_p - &at_q);
            let between = |i: usize| &p[i] + &(&t * &(&q[i] - &p[i]));
            kept.push([between(0), between(1)]);
        }
    }
    kept.dedup();
    kept
}

fn area(polygon: &[Point]) -> Rational {
    let cross = |p: &Point, q: &Point| &(&p[0] * &q[1]) - &(&p[1] * &q[0]);
    (0..polygon.len()).map(|i| cross(&polygon[i], &polygon[(i + 1) % polygon.len()])).sum()
}

/// Polygons on which a network is affine, with its outputs.
fn pieces(network: &Network, polygon: Vec<Point>) -> Vec<(Vec<Point>, Vec<Affine>)> {
    let exact = |x: f64| Rational::from_f64(x).unwrap();
    let input = |i: usize| {
        let mut x = Affine::zero();
        x.c[i] = Rational::ONE;
        x
    };
    let mut cells = vec![(polygon, vec![input(0), input(1)])];
    for layer in network.layers() {
        let mut next = Vec::new();
        for (polygon, before) in cells {
            let neuron = |i: usize| {
                let mut z = Affine { k: exact(layer.bias()[i]), ..Affine::zero() };
                layer.weight().row(i).iter().zip(&before).for_each(|(&w, a)| z.add(a, &exact(w)));
                z
            };
            let mut parts = vec![(polygon, Vec::new())];
            for z in (0..layer.width()).map(neuron) {
                parts = parts
                    .into_iter()
                    .flat_map(|(polygon, after): (Vec<Point>, Vec<Affine>)| match layer.activation() {
                        Activation::Identity => vec![(polygon, [&after[..], from_ref(&z)].concat())],
                        _ => vec![
                            (clip(&polygon, &|x| z.at(x)), [&after[..], from_ref(&z)].concat()),
                            (clip(&polygon, &|x| -z.at(x)), [&after[..], &[Affine::zero()]].concat()),
                        ],
                    })
                    // The polygons with an inside cover the box.
                    .filter(|(polygon, _)| !area(polygon).is_zero())
                    .collect();
            }
            next.extend(parts);
        }
        cells = next;
    }
    cells
}

/// Whether the class changes somewhere on the box.
pub fn class_changes(a: &Network, b: &Network, sides: [(i64, i64); 2], margin: &Rational) -> bool {
    let [(x0, x1), (y0, y1)] = sides.map(|(lo, hi)| (Rational::from(lo), Rational::from(hi)));
    let corner = |x: &Rational, y: &Rational| [x.clone(), y.clone()];
    let square = vec![corner(&x0, &y0), corner(&x1, &y0), corner(&x1, &y1), corner(&x0, &y1)];
    let m = a.output_width();
    pieces(a, square).into_iter().any(|(polygon, of_a)| {
        pieces(b, polygon).into_iter().any(|(polygon, of_b)| {
            (0..m).any(|i| {
                let others = || (0..m).filter(move |&l| l != i);
                let leads: Vec<Affine> = others().map(|l| of_a[i].less(&of_a[l])).collect();
                let sure = leads
                    .iter()
                    .fold(polygon.clone(), |polygon, lead| clip(&polygon, &|x| &lead.at(x) - margin));
                others().any(|j| {
                    let part = clip(&sure, &|x| of_b[j].at(x) - of_b[i].at(x));
                    // The mean of the corners has every lead positive, if each is somewhere.
                    !part.is_empty() && leads.iter().all(|lead| part.iter().any(|x| lead.at(x).is_positive()))
                })
            })
        })
    })
}
