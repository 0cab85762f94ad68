//! The golden cases, points and pairs.

use dashu_int::UBig;
use fiberscope::linear::{
    Connection, FlowBases, Stratum, StratumPath, Tolerance, count_strata, exact_rank_list, same_hidden_orbit,
};
use serde_json::{Value, json};

use super::{dag, data, network, number, numbers};

#[test]
fn strata_edges_and_numbers_of_every_case() {
    for case in data()["cases"].as_array().unwrap() {
        let dag = dag(&numbers(&case["widths"]), number(&case["rank"]));
        let fiber = dag.fiber();
        let found = json!([
            fiber.parameter_count(),
            dag.len(),
            dag.edge_count(),
            dag.move_count(),
            dag.maximal_count(),
            dag.fiber_dimension(),
            1u64 << fiber.component_exponent()
        ]);
        let keys = [
            "d_theta",
            "n_strata",
            "n_edges",
            "n_rank1_move_pairs",
            "n_maximal",
            "fiber_dim",
            "fiber_components",
        ];
        assert_eq!(found, Value::from(keys.map(|key| case[key].clone()).to_vec()), "{}", case["id"]);
        for (at, expected) in case["strata"].as_array().unwrap().iter().enumerate() {
            let stratum = dag.stratum(at);
            let bars: Vec<_> =
                stratum.barcode().bars().map(|(bar, count)| [bar.start, bar.end, count]).collect();
            assert_eq!(json!(stratum.ranks().rows()), expected["r"], "{} {at}", case["id"]);
            assert_eq!(json!(bars), expected["omega"]);
            assert_eq!(json!(dag.dim(at)), expected["dim"]);
            assert_eq!(json!(dag.dof(at)), expected["dof"]);
            assert_eq!(json!(dag.rdof(at)), expected["rdof"]);
            assert_eq!(json!(1u64 << dag.component_exponent(at)), expected["components"]);
            assert_eq!(json!(dag.is_maximal(at)), expected["maximal"]);
            assert_eq!(json!(dag.is_smooth(at)), expected["fiber_smooth_here"]);
            assert_eq!(json!(stratum.hidden_orbit_dimension()), expected["hidden_gl_orbit_dim"]);
        }
        let edge = |edge: fiberscope::linear::Edge| {
            let (f, e) = (edge.source, edge.target);
            json!([edge.from, edge.to, edge.kind().name(), [f.start, f.end], [e.start, e.end]])
        };
        let order = |edges: &mut Vec<Value>| edges.sort_by_key(ToString::to_string);
        let (mut found, mut expected) =
            (dag.edges().map(edge).collect::<Vec<_>>(), case["edges"].as_array().unwrap().clone());
        order(&mut found);
        order(&mut expected);
        assert_eq!(found, expected, "{}", case["id"]);
    }
}

#[test]
fn order_relations_are_reachability() {
    for case in data()["cases"].as_array().unwrap() {
        let dag = dag(&numbers(&case["widths"]), number(&case["rank"]));
        let strata: Vec<Stratum> = dag.strata().collect();
        let pairs = strata.iter().flat_map(|a| strata.iter().map(move |b| (a, b)));
        let below = pairs.filter(|(a, b)| a != b && a.ranks().is_below(b.ranks())).count();
        assert_eq!(json!(below), case["n_order_relations"], "{}", case["id"]);
    }
}

#[test]
fn larger_counts() {
    for case in data()["counts_only"].as_array().unwrap() {
        let dag = dag(&numbers(&case["widths"]), number(&case["rank"]));
        let least = (0..dag.len()).map(|at| dag.dim(at)).min().unwrap();
        let found = json!([dag.len(), dag.edge_count(), dag.maximal_count(), dag.fiber_dimension(), least]);
        let keys = ["n_strata", "n_edges", "n_maximal", "fiber_dim", "min_dim"];
        assert_eq!(found, Value::from(keys.map(|key| case[key].clone()).to_vec()));
        assert_eq!(count_strata(dag.fiber()).unwrap(), UBig::from(dag.len()));
    }
}

#[test]
fn integer_points_have_the_given_ranks_exactly_and_numerically() {
    for point in data()["points"].as_array().unwrap() {
        let network = network(&point["weights"]);
        let exact = exact_rank_list(&network, 1 << 24).unwrap();
        assert_eq!(json!(exact.rows()), point["r"]);
        let flow = FlowBases::compute(&network, Tolerance::default()).unwrap();
        assert_eq!(flow.barcode().rank_list(), exact);
        let stratum = Stratum::new(exact);
        assert_eq!(json!(stratum.dimension()), point["dim"]);
        assert_eq!(json!(stratum.degrees_of_freedom()), point["dof"]);
        assert_eq!(json!(stratum.rank_increasing_degrees_of_freedom()), point["rdof"]);
        // dim A_kji = r_{j~i} - r_{k+1~i}.
        for entry in point["dim_A_kji"].as_array().unwrap() {
            let [k, j, i, dim] = numbers(entry)[..] else { panic!("four numbers") };
            let ranks = stratum.ranks();
            let longer = if k == ranks.depth() { 0 } else { ranks.get(k + 1, i) };
            assert_eq!(ranks.get(j, i) - longer, dim);
        }
    }
}

#[test]
fn pairs_are_connected_or_not_as_stated() {
    let data = data();
    for pair in data["pairs"].as_array().unwrap() {
        let (a, b) = (network(&pair["a"]), network(&pair["b"]));
        let tolerance = Tolerance::default();
        let (flow_a, flow_b) =
            (FlowBases::compute(&a, tolerance).unwrap(), FlowBases::compute(&b, tolerance).unwrap());
        assert_eq!(json!(same_hidden_orbit(&flow_a, &flow_b, 1e-9)), pair["hidden_gl_equivalent"]);
        match StratumPath::between(&a, &b, tolerance).unwrap() {
            Connection::Path(path) => {
                assert_eq!(pair["same_component"], true);
                for step in 1..20 {
                    let point = path.at(f64::from(step) / 20.0).unwrap();
                    let flow = FlowBases::compute(&point, tolerance).unwrap();
                    assert_eq!(flow.barcode(), flow_a.barcode());
                    assert!(point.function_difference(&a) < 1e-10);
                }
            }
            Connection::DifferentComponents => assert_eq!(pair["same_component"], false),
            other => panic!("{other:?}"),
        }
    }
}
