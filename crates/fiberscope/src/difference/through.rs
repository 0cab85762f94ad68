//! What a layer of both networks makes of values, with the vector instructions that the processor has.

use fiberscope_check::difference::PairLayer;
use pulp::Simd;

/// `W_A a` and `dW a + W_B e`, written over `z` and `d`; without `e` where it is zero.
pub fn through(layer: &PairLayer, a: &[f64], e: Option<&[f64]>, z: &mut [f64], d: &mut [f64]) {
    pulp::Arch::new().dispatch(Through { layer, a, e, z, d });
}

struct Through<'l> {
    layer: &'l PairLayer,
    a: &'l [f64],
    e: Option<&'l [f64]>,
    z: &'l mut [f64],
    d: &'l mut [f64],
}

impl pulp::WithSimd for Through<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Through { layer, a, e, z, d } = self;
        for (i, (z, d)) in z.iter_mut().zip(d).enumerate() {
            let row = i * layer.columns..(i + 1) * layer.columns;
            *z = sum(simd, &layer.weight_a[row.clone()], a);
            *d = sum(simd, &layer.weight_d[row.clone()], a);
            if let Some(e) = e {
                *d += sum(simd, &layer.weight_b[row], e);
            }
        }
    }
}

/// The scalar product.
#[inline(always)]
fn sum<S: Simd>(simd: S, x: &[f64], y: &[f64]) -> f64 {
    let ((x_blocks, x_rest), (y_blocks, y_rest)) = (S::as_simd_f64s(x), S::as_simd_f64s(&y[..x.len()]));
    let mut sum = simd.mul_f64s(simd.partial_load_f64s(x_rest), simd.partial_load_f64s(y_rest));
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        sum = simd.mul_add_e_f64s(*x, *y, sum);
    }
    simd.reduce_sum_f64s(sum)
}

/// The scalar product of short vectors.
pub fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use fiberscope_check::difference::Pair;
    use fiberscope_core::Network;

    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        for n in [1, 7, 8, 19] {
            let network = |shift: usize| {
                let row = |i: usize| (0..n).map(|j| ((i * 5 + j * 3 + shift) % 11) as f64 - 5.0).collect();
                let rows: Vec<Vec<f64>> = (0..3).map(row).collect();
                let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
                Network::from_rows(&[(&rows, &[0.0; 3])]).unwrap().to_exact()
            };
            let pair = Pair::new(&network(0), &network(4)).unwrap();
            let layer = &pair.layers()[0];
            let a: Vec<f64> = (0..n).map(|j| j as f64 - 2.0).collect();
            let e: Vec<f64> = (0..n).map(|j| 4.0 - j as f64).collect();
            let sum = |matrix: &[f64], i: usize, x: &[f64]| -> f64 {
                (0..n).map(|j| matrix[i * n + j] * x[j]).sum()
            };
            for e in [None, Some(&e[..])] {
                let (mut z, mut d) = ([7.0; 3], [7.0; 3]);
                through(layer, &a, e, &mut z, &mut d);
                for i in 0..3 {
                    assert_eq!(z[i], sum(&layer.weight_a, i, &a));
                    let of_e = e.map_or(0.0, |e| sum(&layer.weight_b, i, e));
                    assert_eq!(d[i], sum(&layer.weight_d, i, &a) + of_e);
                }
            }
        }
    }
}
