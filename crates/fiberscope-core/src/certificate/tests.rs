//! What is written is read again, and what is no certificate is not.

use super::*;
use crate::{
    BiasShift, Counterweight, FoldPair, Interval, LinearChange, Move, Mute, Neuron, NeuronCopy, Nudge,
    Operand, PlacedNeuron, Share, ShownRole,
};

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn certificate(evidence: Evidence) -> Certificate {
    let digest = "0123456789abcdef".repeat(4);
    let name =
        NetworkName { sha256: serde_json::from_str(&format!("{digest:?}")).unwrap(), widths: vec![1, 2, 1] };
    let domain = Domain::Box(vec![Interval { lower: Some(r("-1/2")), upper: None }]);
    Certificate { a: name.clone(), b: name, domain, evidence }
}

fn every_move() -> MoveChain {
    let neuron = PlacedNeuron { unit: 1, weight: vec![r("1")], bias: r("-1/3"), out: vec![r("0")] };
    let linear = LinearChange { remove: vec![0], insert: vec![neuron.clone()] };
    MoveChain::from(vec![
        Move::Permute { layer: 0, order: vec![1, 0] },
        Move::Scale { layer: 0, factors: vec![r("2"), r("1/3")] },
        Move::Drop { layer: 0, units: vec![1] },
        Move::Insert { layer: 0, neurons: vec![neuron] },
        Move::Merge { layer: 0, pairs: vec![(0, 1)] },
        Move::Split {
            layer: 0,
            copies: vec![NeuronCopy { of: 0, unit: 1, factor: r("2"), out: vec![r("5")] }],
        },
        Move::Cancel { layer: 0, keep: 0, drop: 1, linear: linear.clone() },
        Move::Refactor { layer: 0, linear: linear.clone() },
        Move::Reorient { layer: 0, units: vec![0], linear },
        Move::Translate { layer: 0, unit: 0, amount: r("1/4") },
        Move::Flip { layer: 0, unit: 0, flips: vec![1] },
        Move::Shift {
            layer: 0,
            shifts: vec![BiasShift {
                unit: 0,
                role: ShownRole::Dead,
                amount: r("-1/2"),
                slopes: vec![vec![r("1"), r("1/2")]],
            }],
        },
        Move::Mute {
            layer: 1,
            neurons: vec![Mute {
                unit: 1,
                out: vec![r("-1/3")],
                shares: vec![Share {
                    of: 1,
                    factor: r("2"),
                    constant: r("1/7"),
                    by: vec![Counterweight { unit: 0, weight: r("1/5") }],
                }],
            }],
        },
        Move::Fold { layer: 0, pairs: vec![(0, 1)] },
        Move::Unfold {
            layer: 0,
            weight: vec![vec![r("1")]],
            bias: vec![r("0")],
            activation: crate::Activation::Identity,
            next_weight: vec![vec![r("1")]],
            next_bias: vec![r("0")],
            pairs: vec![(0, 1)],
        },
    ])
}

fn every_node() -> Vec<CoverNode> {
    let split = CoverNode::Split(Operand::A, Neuron { layer: 0, unit: 1 });
    vec![split, CoverNode::Equal, CoverNode::Empty(vec![(0, r("2"))]), CoverNode::None]
}

#[test]
fn every_kind_and_every_move_round_trips() {
    for evidence in [
        Evidence::Moves { a: every_move(), b: MoveChain::default() },
        Evidence::Rounding { a: MoveChain::default(), b: every_move(), bound: r("1/1024") },
        Evidence::Nudged {
            a: vec![],
            b: vec![
                RoundingStep::Moves(every_move()),
                RoundingStep::Nudge(Nudge {
                    layer: 0,
                    weight: vec![(0, 1, r("2"))],
                    bias: vec![(1, r("1/3"))],
                }),
            ],
            bound: r("1/1024"),
        },
        Evidence::Close { a: MoveChain::default(), b: every_move(), relative: r("1/1024") },
        Evidence::Hyperplanes { a: every_move(), b: MoveChain::default(), prefix: 1 },
        Evidence::Regions { a: MoveChain::default(), b: every_move(), prefix: 0, tree: every_node() },
        Evidence::Line { a: every_move(), b: MoveChain::default(), breakpoints: vec![r("-1/3"), r("0")] },
        Evidence::Difference {
            a: every_move(),
            b: MoveChain::default(),
            bounds: vec![r("1/1024"), r("0")],
            tree: [vec![BoxNode::Bisect(1); 70], vec![BoxNode::Leaf; 71]].concat(),
        },
        Evidence::Decision {
            a: MoveChain::default(),
            b: every_move(),
            margin: r("1/1024"),
            tree: vec![DecisionNode::Bisect(0), DecisionNode::Never(1), DecisionNode::Held(vec![])],
        },
        Evidence::Witness { x: vec![r("1/3")], a: vec![r("1")], b: vec![r("2")] },
        Evidence::Rank(RankEvidence {
            points: vec![vec![r("1/3")], vec![r("-2")]],
            folds: vec![FoldPair { neuron: Neuron { layer: 0, unit: 1 }, points: (0, 1) }],
            outputs: vec![0],
            extra: vec![1, 0],
            rank: 4,
        }),
    ] {
        let certificate = certificate(evidence);
        let json = certificate.to_json();
        assert_eq!(Certificate::from_json(json.as_bytes()).unwrap(), certificate, "{json}");
    }
}

#[test]
fn what_is_no_certificate_is_refused() {
    let valid = certificate(Evidence::Moves { a: every_move(), b: MoveChain::default() }).to_json();
    let check = |from: &str, to: &str, expected: &str| {
        assert!(valid.contains(from), "{from}");
        let error = Certificate::from_json(valid.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("fiberscope-certificate", "fiberscope-network", "found format \"fiberscope-network\"");
    check("\"version\": 1", "\"version\": 2", "expected certificate version 1, found 2");
    check("\"moves\"", "\"magic\"", "unknown kind of evidence \"magic\"");
    check("\"permute\"", "\"teleport\"", "unknown variant `teleport`");
    check("\"layer\":1", "\"layer\":0", "count from 1");
    check("\"1/3\"", "0.3", "expected a string");
    check("\"1/3\"", "\"0.3\"", "expected a fraction");
    check("\"domain\"", "\"extra\": 1, \"domain\"", "expected the key \"domain\", found \"extra\"");
    check(
        "\"domain\"",
        "\"domain\": \"space\", \"domain\"",
        "expected the key \"evidence\", found \"domain\"",
    );
    check("\"order\":[2,1]", "\"order\":[2,1],\"why\":3", "unknown field `why`");
    check("{\"format\"", "[{\"format\"", "not a certificate");
}
