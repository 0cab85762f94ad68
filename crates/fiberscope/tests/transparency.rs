//! Layers that are off somewhere: known answers, and agreement of linear programs with the complex.
use fiberscope::complex::{
    Built, ComplexOptions, LayerTransparency, PolyhedralComplex, Transparency, TransparencyOptions,
};
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network, Rational, Sign};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn layer(rows: &[&[f64]], bias: &[f64]) -> Layer {
    Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), Activation::Relu)
}

/// Hidden layers, and an output that sums the last.
fn network(mut hidden: Vec<Layer>) -> Network {
    let width = hidden.last().unwrap().width();
    hidden.push(Layer::new(Matrix::from_fn(1, width, |_, _| 1.0), vec![0.0], Activation::Identity));
    Network::new(hidden).unwrap()
}

fn random(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let hidden = widths.windows(2).map(|pair| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| rng.random_range(-1.0..1.0));
        let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
        Layer::new(weight, bias, Activation::Relu)
    });
    network(hidden.collect())
}

fn interval(lower: f64, upper: f64, inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(lower, upper); inputs]).unwrap()
}

fn decide(network: &Network, domain: &Domain) -> Transparency {
    Transparency::new(network, domain, &TransparencyOptions::new()).unwrap()
}

/// A point that is claimed to be opaque is inside, and its layer is off there in rational numbers.
fn check_witness(network: &Network, domain: &Domain, layer: usize, x: &[Rational]) {
    assert!(domain.contains(x));
    let signs = network.sign_vector_exact(x).unwrap();
    assert!(signs.layers().nth(layer).unwrap().iter().all(|&sign| sign == Sign::Negative));
}

#[test]
fn known_answers() {
    let check = |network: &Network, domain: &Domain, expected: Option<usize>| {
        let found = decide(network, domain);
        assert_eq!(found.opaque().map(|(layer, _)| layer), expected, "{found:?}");
        assert_eq!(found.is_transparent(), Some(expected.is_none()));
        if let Some((layer, x)) = found.opaque() {
            check_witness(network, domain, layer, x);
        }
    };
    let wide = interval(-1.0, 1.0, 1);
    // One of x and 1/2 - x is not negative; one of x and -x - 1/10 may be.
    for (bias, expected) in [(0.5, None), (-0.1, Some(0)), (0.0, None)] {
        let net = network(vec![layer(&[&[1.0], &[-1.0]], &[0.0, bias])]);
        check(&net, &wide, expected);
        check(&net, &Domain::Space, expected);
    }
    // |x| - 1/2 is negative near the origin only.
    let hat = network(vec![layer(&[&[1.0], &[-1.0]], &[0.0, 0.0]), layer(&[&[1.0, 1.0]], &[-0.5])]);
    check(&hat, &wide, Some(1));
    check(&hat, &Domain::Space, Some(1));
    check(&hat, &interval(0.5, 1.0, 1), None);
    check(&hat, &interval(0.49, 1.0, 1), Some(1));
    // 1 - |x| is negative far away only, also where the box has one side.
    let tent = network(vec![layer(&[&[1.0], &[-1.0]], &[0.0, 0.0]), layer(&[&[-1.0, -1.0]], &[1.0])]);
    check(&tent, &wide, None);
    check(&tent, &Domain::Space, Some(1));
    check(&tent, &Domain::orthant(1), Some(1));
    // Constant neurons.
    check(&network(vec![layer(&[&[0.0]], &[-1.0])]), &Domain::Space, Some(0));
    check(&network(vec![layer(&[&[0.0]], &[0.0])]), &Domain::Space, None);
}

/// The regions tell the same as the linear programs.
#[test]
fn programs_agree_with_the_complex() {
    let mut seen = [0; 2];
    for seed in 0..60 {
        let widths = [&[1, 3, 2][..], &[2, 3, 3], &[2, 4, 2, 2], &[3, 4, 3]][seed as usize % 4];
        let network = random(widths, seed);
        for domain in [interval(-1.0, 1.0, widths[0]), Domain::Space] {
            let built = PolyhedralComplex::build(&network, &domain, &ComplexOptions::new());
            let Built::Complete(complex) = built.unwrap() else { panic!("there is no limit") };
            let is_off = |layer: usize| {
                complex.regions().any(|region| {
                    let signs = region.cell().sign_vector();
                    signs.layers().nth(layer).unwrap().iter().all(|&sign| sign == Sign::Negative)
                })
            };
            let expected = (0..network.hidden_depth()).find(|&layer| is_off(layer));
            let found = decide(&network, &domain);
            assert_eq!(found.opaque().map(|(layer, _)| layer), expected, "{widths:?} {seed} {domain:?}");
            assert_eq!(found.is_transparent(), Some(expected.is_none()));
            if let Some((layer, x)) = found.opaque() {
                check_witness(&network, &domain, layer, x);
            }
            seen[usize::from(expected.is_none())] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count >= 10), "{seen:?}");
}

/// A pair of neurons that lean on each other settles a layer of a network whose complex nobody lists.
#[test]
fn large_networks_are_settled_where_few_decisions_are_enough() {
    let base = random(&[10, 60, 60], 5);
    let mut hidden = base.hidden_layers().to_vec();
    let second = &hidden[1];
    let opposite: Vec<f64> = second.weight().row(0).iter().map(|w| -w).collect();
    let weight = Matrix::from_fn(60, 60, |i, j| if i == 1 { opposite[j] } else { second.weight().row(i)[j] });
    let mut bias = second.bias().to_vec();
    bias[1] = 0.25 - bias[0];
    hidden[1] = Layer::new(weight, bias, Activation::Relu);
    let network = network(hidden);
    let found = decide(&network, &interval(-1.0, 1.0, 10));
    assert_eq!(found.is_transparent(), Some(true), "{found:?}");
}

#[test]
fn limits_and_bad_domains_are_said() {
    let network = random(&[4, 8, 3], 1);
    let none = TransparencyOptions::new().programs(0);
    let found = Transparency::new(&network, &interval(-1.0, 1.0, 4), &none).unwrap();
    assert_eq!((found.is_transparent(), found.unknown(), found.programs), (None, vec![0, 1], 0));
    assert!(found.layers.iter().all(|(_, known)| *known == LayerTransparency::Unknown));
    let error = Transparency::new(&network, &interval(1.0, 1.0, 4), &none).unwrap_err().to_string();
    assert_eq!(error, "input 1: the box is flat, from 1 to 1; expected lo < hi");
    assert!(Transparency::new(&network, &interval(0.0, 1.0, 3), &none).is_err());
}
