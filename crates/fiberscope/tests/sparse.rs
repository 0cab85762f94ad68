//! Questions about convolutional networks, whose layers are stored by their entries: answers do not depend on the
//! storage, and twins of networks that would not fit as dense matrices are found and proved.
use crate::common::filters;

use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{Agreement, EquivalenceOptions, Method, Verdict, decide};
use fiberscope::orbit::{find, find_near, propose, relabel};
use fiberscope::reduce::{ReduceOptions, reduce};
use fiberscope::{
    Activation, Claim, Deadline, Domain, Layer, Network, Rational, SparseMatrix, Weights, anatomy::examine,
};
use filters::Filters;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Two convolutions and a dense layer.
struct Image {
    size: usize,
    first: Filters,
    second: Filters,
    last: Vec<f64>,
}

impl Image {
    fn random(size: usize, channels: [usize; 3], seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let first = Filters::random(channels[1], channels[0], &mut rng);
        let second = Filters::random(channels[2], channels[1], &mut rng);
        let count = 2 * channels[2] * (size / 4) * (size / 4);
        let last = (0..count).map(|_| f64::from(rng.random_range(-1.0f32..1.0))).collect();
        Image { size, first, second, last }
    }

    fn network(&self) -> Network {
        let inputs = self.last.len() / 2;
        let last = fiberscope::Matrix::from_entries(2, inputs, self.last.clone()).unwrap();
        Network::new(vec![
            self.first.layer(self.size, 2),
            self.second.layer(self.size / 2, 2),
            Layer::new(last, vec![0.5, -0.25], Activation::Identity),
        ])
        .unwrap()
    }

    /// The channels between the convolutions in another order, each filter times a factor.
    fn relabelled(&self, factor: impl Fn(usize) -> f64) -> Network {
        let channels = self.first.kernel.len();
        let order: Vec<usize> = (0..channels).rev().collect();
        let mut first = self.first.clone();
        first.kernel = order
            .iter()
            .map(|&c| self.first.kernel[c].iter().map(|taps| taps.map(|w| w * factor(c))).collect())
            .collect();
        first.bias = order.iter().map(|&c| self.first.bias[c] * factor(c)).collect();
        let mut second = self.second.clone();
        for filter in &mut second.kernel {
            *filter = order.iter().map(|&c| filter[c].map(|w| w / factor(c))).collect();
        }
        Image { size: self.size, first, second, last: self.last.clone() }.network()
    }

    /// The first filter twice, its outgoing weights shared out.
    fn split(&self) -> Network {
        let (mut first, mut second) = (self.first.clone(), self.second.clone());
        first.kernel.push(first.kernel[0].iter().map(|taps| taps.map(|w| 2.0 * w)).collect());
        first.bias.push(2.0 * first.bias[0]);
        for filter in &mut second.kernel {
            filter.push(filter[0].map(|w| w / 4.0));
            filter[0] = filter[0].map(|w| w / 2.0);
        }
        Image { size: self.size, first, second, last: self.last.clone() }.network()
    }
}

impl Image {
    /// The filters of the first convolution split at other values, in single precision, as programs do that make a
    /// network harder to verify, `relu(z - t) - relu(t - z) + t = z`, and put together by one more convolution. The
    /// last filter's halves come back with this weight.
    fn put_together(&self, weight: f64) -> Network {
        let single = |x: f64| f64::from(x as f32);
        let channels = self.first.kernel.len();
        let at = |c: usize| single(0.3 + c as f64 / 7.0);
        let (mut halves, mut together) = (self.first.clone(), self.first.clone());
        halves.kernel = (0..2 * channels)
            .map(|half| {
                let sign = if half % 2 == 0 { 1.0 } else { -1.0 };
                self.first.kernel[half / 2].iter().map(|taps| taps.map(|w| sign * w)).collect()
            })
            .collect();
        let halved = |half: usize| single(self.first.bias[half / 2] - at(half / 2));
        halves.bias =
            (0..2 * channels).map(|half| if half % 2 == 0 { halved(half) } else { -halved(half) }).collect();
        let centre = |w: f64| std::array::from_fn(|tap| if tap == 4 { w } else { 0.0 });
        let weight = |c: usize| if c + 1 == channels { weight } else { 1.0 };
        together.kernel = (0..channels)
            .map(|c| {
                let of = |half: usize| match half {
                    _ if half / 2 != c => 0.0,
                    _ if half.is_multiple_of(2) => weight(c),
                    _ => -weight(c),
                };
                (0..2 * channels).map(|half| centre(of(half))).collect()
            })
            .collect();
        together.bias = (0..channels).map(at).collect();
        let mut layers = vec![halves.layer(self.size, 2), together.layer(self.size / 2, 1)];
        layers.extend(self.network().layers()[1..].iter().cloned());
        Network::new(layers).unwrap()
    }
}

/// The same network with dense layers.
fn dense(network: &Network) -> Network {
    let layer = |layer: &Layer| Layer::new(layer.weight().clone(), layer.bias().to_vec(), layer.activation());
    Network::new(network.layers().iter().map(layer).collect()).unwrap()
}

fn by_entries(network: &Network) -> Network {
    let layer = |layer: &Layer| {
        let weight = Weights::Sparse(SparseMatrix::from_dense(layer.weight()));
        Layer::new(weight, layer.bias().to_vec(), layer.activation())
    };
    Network::new(network.layers().iter().map(layer).collect()).unwrap()
}

fn proved(a: &Network, b: &Network) -> (Method, Claim) {
    let decision = decide(a, b, &Domain::Space, &EquivalenceOptions::new()).unwrap();
    let (Verdict::Equivalent { certificate } | Verdict::Different { certificate, .. }) = &decision.verdict
    else {
        panic!("{:?}", decision.method)
    };
    // The certificate holds for either storage.
    let Outcome::Proved(claim) = check(certificate, a, b) else { panic!("refused") };
    (decision.method, claim)
}

#[test]
fn verdicts_do_not_depend_on_the_storage() {
    for seed in 0..4 {
        let image = Image::random(8, [1, 4, 3], seed);
        let a = image.network();
        let mut other = Image::random(8, [1, 4, 3], seed);
        other.second.bias[1] += 0.5;
        let pairs = [
            (image.relabelled(|c| 2f64.powi(c as i32 - 2)), Claim::Equivalent),
            (image.split(), Claim::Equivalent),
            (other.network(), Claim::Different),
        ];
        for (b, claim) in pairs {
            let answers: Vec<_> =
                [(dense(&a), dense(&b)), (by_entries(&a), by_entries(&b)), (by_entries(&a), dense(&b))]
                    .iter()
                    .map(|(a, b)| proved(a, b))
                    .collect();
            assert_eq!(answers[0].1, claim);
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        }
        let [reduced, sparse] = [dense(&image.split()), by_entries(&image.split())]
            .map(|network| reduce(&network.to_exact(), &Domain::Space, &ReduceOptions::new()).unwrap());
        assert_eq!(reduced, sparse);
        assert_eq!(reduced.network.widths(), a.widths());
    }
}

#[test]
fn relabellings_are_found_by_entries() {
    let image = Image::random(16, [2, 5, 4], 7);
    let a = image.network();
    assert!(a.layers()[0].weights().is_sparse() && a.layers()[1].weights().is_sparse());
    let b = relabel(&a, 3).network;
    assert!(b.layers()[0].weights().is_sparse());
    assert!(propose(&a, &b).unwrap().turns(&b.to_exact(), &a.to_exact()));
    assert!(find(&a.to_exact(), &b.to_exact()).unwrap().turns(&b.to_exact(), &a.to_exact()));
    // Factors that round.
    let c = image.relabelled(|c| 0.3 + c as f64 / 7.0);
    let near = find_near(&a, &c, &Deadline::NEVER).unwrap();
    assert!(near.relative.to_f64() < 1e-15 && near.relative > Rational::ZERO);
    assert!(find_near(&a, &Image::random(16, [2, 5, 4], 8).network(), &Deadline::NEVER).is_none());
}

/// Networks with 300 million numbers as dense matrices.
#[test]
fn large_twins_are_decided() {
    let image = Image::random(64, [3, 8, 8], 11);
    let a = image.network();
    assert!(a.parameter_count() > 100_000_000 && a.stored_count() < 1_000_000);
    assert_eq!(proved(&a, &image.relabelled(|_| 0.5)), (Method::Moves, Claim::Equivalent));
    assert_eq!(proved(&a, &image.split()), (Method::Moves, Claim::Equivalent));
    let mut other = Image::random(64, [3, 8, 8], 11);
    other.first.kernel[3][1][4] += 0.125;
    assert_eq!(proved(&a, &other.network()).1, Claim::Different);
    let anatomy = examine(&a, &Domain::Space, &Deadline::NEVER);
    assert_eq!(anatomy.widths, [12_288, 8192, 2048, 2]);
}

/// A convolution more, whose filters come in pairs that cancel up to rounding; as dense matrices, folding it would take
/// 25 thousand million multiplications.
#[test]
fn split_filters_are_put_together_up_to_rounding() {
    let image = Image::random(32, [3, 8, 8], 13);
    let (a, b) = (image.network(), image.put_together(1.0));
    let domain = Domain::from_bounds(&vec![(0.0, 1.0); 3072]).unwrap();
    let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
    for (first, second) in [(&a, &b), (&b, &a)] {
        let decision = decide(first, second, &domain, &options).unwrap();
        let Verdict::EquivalentUpToRounding { agreement, certificate, differ_at } = decision.verdict else {
            panic!("{:?}", decision.method)
        };
        let Agreement::Outputs { bound, size: Some(size) } = agreement else { panic!("no bound") };
        assert!(&bound * &Rational::from(10_000) < size, "{bound} {size}");
        assert!(matches!(check(&certificate, first, second), Outcome::Proved(_)));
        let x = differ_at.unwrap().x;
        let (y, z) = (first.evaluate_exact(&x).unwrap(), second.evaluate_exact(&x).unwrap());
        assert!(y != z && y.iter().zip(&z).all(|(y, z)| (y - z).abs() <= bound));
    }
    let decision = decide(&a, &image.put_together(1.01), &domain, &options).unwrap();
    assert!(matches!(decision.verdict, Verdict::Different { .. }));
    let reduced = reduce(&b.to_exact(), &Domain::Space, &ReduceOptions::new()).unwrap();
    assert_eq!(reduced.network.widths(), a.widths());
}
