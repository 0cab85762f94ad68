//! Networks of the zoo, built by hand, and what is known of them.

#![allow(dead_code)]

use fiberscope::anatomy::Anatomy;
use fiberscope::fiber::{Condition, Identifiability};
use fiberscope_core::{
    Activation, Certificate, Digest, Domain, Evidence, Layer, Matrix, Move, MoveChain, Network, Neuron,
    RankBounds, Rational,
};

/// The weight, row by row, the bias and the activation of a layer.
type Numbers<'a> = (&'a [&'a [f64]], &'a [f64], Activation);

pub fn network(layers: &[Numbers]) -> Network {
    let layer = |(rows, bias, activation): &Numbers| {
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), *activation)
    };
    Network::new(layers.iter().map(layer).collect()).unwrap()
}

/// The network `hiding-two` of the zoo, with its hidden hyperplane translated by `t`.
pub fn hiding_two(t: f64) -> Network {
    Network::from_rows(&[
        (&[&[1.0, 0.0, 2.0], &[0.0, 1.0, -1.0], &[1.0, 1.0, 1.0]], &[0.0, 1.0 + t, -2.0]),
        (&[&[-1.0, 2.0, -1.0], &[-2.0, 1.0, -3.0]], &[-2.0 - 2.0 * t, -3.0 - t]),
        (&[&[1.0, -1.0]], &[0.0]),
    ])
    .unwrap()
}

/// A network with every kind of neuron.
pub fn motley() -> Network {
    network(&[
        (&[&[1.0, -0.5], &[0.25, 1.0], &[0.0, 0.0]], &[0.5, -1.0, 2.0], Activation::Relu),
        (
            &[&[1.0, 0.5, 1.0], &[-1.0, -2.0, -0.5], &[1.0, -1.0, 0.0], &[2.0, -2.0, 0.0]],
            &[1.0, -1.0, 0.0, 0.0],
            Activation::Relu,
        ),
        (&[&[1.0, 0.0, -1.0, 0.3], &[0.5, 1.0, 1.0, -0.7]], &[0.0, 0.0], Activation::Identity),
        (&[&[1.0, -1.0]], &[0.0], Activation::Identity),
    ])
}

pub fn anatomy(network: &Network, hidden: Vec<Neuron>, reason: &str, failing: Option<&str>) -> Anatomy {
    let condition = |statement: &str, detail: Option<&str>| Condition {
        statement: statement.into(),
        holds: detail.is_none(),
        detail: detail.map(String::from),
    };
    let rank = network.layers()[0].width().min(network.input_width());
    Anatomy {
        widths: network.widths(),
        parameters: network.parameter_count(),
        digest: Digest::of(network),
        domain: Domain::Space,
        relu: network.hidden_layers().iter().map(|layer| layer.activation() == Activation::Relu).collect(),
        roles: network.roles(&Domain::Space),
        undecided: Vec::new(),
        bottleneck: Some(network.input_width() >= network.layers()[0].width()),
        first_rank: RankBounds { lower: rank, upper: rank },
        conditions: vec![
            condition("no hidden neuron has only zero incoming weights", None),
            condition("no two neurons of a layer are positive multiples of each other", failing),
        ],
        hidden,
        identifiability: Identifiability::No { reason: reason.into() },
        fiber: None,
    }
}

pub fn hiding_two_anatomy() -> Anatomy {
    let reason = "the next layer hides neuron 2 of layer 1, so its hyperplane can be translated";
    anatomy(&hiding_two(0.0), vec![Neuron { layer: 0, unit: 1 }], reason, None)
}

pub fn motley_anatomy() -> Anatomy {
    let reason = "neuron 2 of layer 2 is dead, so its weights are free";
    anatomy(&motley(), vec![], reason, Some("neurons 3 and 4 of layer 2"))
}

pub fn certificate(a: &Network, b: &Network, evidence: Evidence) -> Certificate {
    Certificate::new(a, b, Domain::Space, evidence)
}

pub fn translation(amount: i64) -> Evidence {
    let chain = vec![Move::Translate { layer: 0, unit: 1, amount: Rational::from(amount) }];
    Evidence::Moves { a: MoveChain::from(chain), b: MoveChain::default() }
}

/// Forty moves that change nothing.
pub fn long_chain() -> MoveChain {
    let swap = |i: usize| match i % 2 {
        0 => Move::Permute { layer: 0, order: vec![2, 1, 0] },
        _ => Move::Scale { layer: 1, factors: vec![Rational::from(1), Rational::ONE] },
    };
    MoveChain::from((0..40).map(swap).collect::<Vec<_>>())
}
