//! Equality of small networks by brute force: every activation pattern of both networks whose region has
//! interior points, by Fourier-Motzkin elimination over the rationals.

use fiberscope::{Activation, Domain, ExactNetwork, Interval, Network, Rational};
/// An affine function: gradient, then constant.
type Form = Vec<Rational>;

/// A region: strict inequalities, and the affine map on it.
struct Region {
    inequalities: Vec<Form>,
    map: Vec<Form>,
}

/// Whether two networks are equal on a domain.
pub fn equal_by_brute_force(a: &Network, b: &Network, domain: &Domain) -> bool {
    let sides = domain.sides(a.input_width());
    let fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
    let free = sides.iter().filter(|side| !fixed(side)).count();
    let (mut inputs, mut walls, mut place) = (Vec::new(), Vec::new(), 0);
    for side in &sides {
        let mut form = vec![Rational::ZERO; free + 1];
        if fixed(side) {
            form[free] = side.lower.clone().unwrap();
        } else {
            form[place] = Rational::ONE;
            place += 1;
            if let Some(lower) = &side.lower {
                let mut wall = form.clone();
                wall[free] = -lower;
                walls.push(wall);
            }
            if let Some(upper) = &side.upper {
                let mut wall: Form = form.iter().map(|x| -x).collect();
                wall[free] = upper.clone();
                walls.push(wall);
            }
        }
        inputs.push(form);
    }
    let of_a = regions(&a.to_exact(), &inputs, &walls);
    let of_b = regions(&b.to_exact(), &inputs, &walls);
    of_a.iter().all(|r| {
        of_b.iter().all(|s| {
            r.map == s.map || !has_points([r.inequalities.clone(), s.inequalities.clone()].concat(), free)
        })
    })
}

fn regions(network: &ExactNetwork, inputs: &[Form], walls: &[Form]) -> Vec<Region> {
    let mut regions = vec![Region { inequalities: walls.to_vec(), map: inputs.to_vec() }];
    for layer in network.layers() {
        regions = regions.into_iter().flat_map(|region| advance(region, layer)).collect();
    }
    regions
}

fn advance(region: Region, layer: &fiberscope::Layer<Rational>) -> Vec<Region> {
    let d = region.map[0].len() - 1;
    let combine = |i: usize| -> Form {
        let mut form = vec![Rational::ZERO; d + 1];
        for (w, input) in layer.weight().row(i).iter().zip(&region.map) {
            form.iter_mut().zip(input).for_each(|(sum, x)| *sum += &(w * x));
        }
        form[d] += &layer.bias()[i];
        form
    };
    let z: Vec<Form> = (0..layer.width()).map(combine).collect();
    if layer.activation() == Activation::Identity {
        return vec![Region { inequalities: region.inequalities, map: z }];
    }
    let zero = vec![Rational::ZERO; d + 1];
    let mut partial = vec![Region { inequalities: region.inequalities, map: vec![] }];
    for form in z {
        let constant = form[..d].iter().all(Rational::is_zero);
        let mut next = Vec::new();
        for Region { inequalities, map } in partial {
            for on in [true, false] {
                if constant && on == form[d].is_negative() {
                    continue;
                }
                let mut inequalities = inequalities.clone();
                if !constant {
                    inequalities.push(if on { form.clone() } else { form.iter().map(|x| -x).collect() });
                }
                if has_points(inequalities.clone(), d) {
                    let output = if on { form.clone() } else { zero.clone() };
                    next.push(Region { inequalities, map: [map.clone(), vec![output]].concat() });
                }
            }
        }
        partial = next;
    }
    partial
}

/// Whether strict inequalities in `d` variables have a common solution.
fn has_points(mut inequalities: Vec<Form>, d: usize) -> bool {
    for variable in (0..d).rev() {
        let (mut lower, mut upper, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for form in inequalities {
            match form[variable].signum() {
                1 => lower.push(form),
                -1 => upper.push(form),
                _ => rest.push(form),
            }
        }
        for l in &lower {
            for u in &upper {
                let (p, q) = (-&u[variable], &l[variable]);
                rest.push(l.iter().zip(u).map(|(x, y)| &(&p * x) + &(q * y)).collect());
            }
        }
        inequalities = rest;
    }
    inequalities.iter().all(|form| form[form.len() - 1].is_positive())
}
