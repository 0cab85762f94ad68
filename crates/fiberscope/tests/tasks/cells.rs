//! Counts of cells: the gluing formula against the direct count.

use fiberscope::complex::{Built, CellMethod, ComplexOptions, CountOutcome, PolyhedralComplex, count_cells};
use fiberscope::tasks::{Answer, CellsQuestion, Merged, Plan, Results, Task};
use fiberscope::{Activation, Deadline, Domain, Layer, Matrix, Network};

use super::{Manner, answer, cube, network, reread};

/// Counts directly and in tasks, with several cuts.
fn check(network: &Network, domain: &Domain, seed: u64) -> CellMethod {
    let direct = count_cells(network, domain, &ComplexOptions::new()).unwrap();
    let CountOutcome::Complete { counts: expected, method: expected_method } = direct else {
        panic!("a limit")
    };
    for tasks in [1, 2, 7, 40] {
        let plan =
            Plan::new(CellsQuestion::new(domain.clone()), &[network], tasks, &Deadline::NEVER).unwrap();
        for manner in [Manner::Plain, Manner::Wild(seed)] {
            let (found, _) = answer(&reread(&plan), manner);
            let Answer::Cells(counts, method) = found else { panic!("another answer") };
            assert_eq!(counts, expected, "{:?}, {tasks} tasks, {manner:?}", network.widths());
            assert_eq!(method, expected_method, "{:?}, {tasks} tasks, {manner:?}", network.widths());
        }
    }
    // Not the algorithm that the direct count uses.
    if expected.all.last().is_some_and(|regions| *regions < 3000) {
        let Built::Complete(listed) =
            PolyhedralComplex::build(network, domain, &ComplexOptions::new()).unwrap()
        else {
            panic!("a limit")
        };
        assert_eq!(listed.counts(), expected);
    }
    expected_method
}

#[test]
fn counts_do_not_depend_on_the_cut() {
    for (seed, widths) in [&[1, 9, 5, 1][..], &[2, 9, 6, 1], &[2, 6, 5, 4, 1], &[3, 7, 4, 1], &[4, 5, 3, 2]]
        .into_iter()
        .enumerate()
    {
        let network = network(widths, seed as u64, 0.0);
        check(&network, &cube(widths[0]), seed as u64);
    }
}

#[test]
fn counts_of_the_space_do_not_depend_on_the_cut() {
    for (seed, widths) in
        [&[1, 6, 4, 1][..], &[2, 7, 4, 1], &[3, 5, 3, 1], &[4, 2, 3, 1]].into_iter().enumerate()
    {
        check(&network(widths, 50 + seed as u64, 0.0), &Domain::Space, seed as u64);
    }
}

/// Parameters on a coarse grid: parallel and repeated neurons, neurons of zeros, many hyperplanes through one point.
#[test]
fn degenerate_networks_are_counted_too() {
    let mut listed = 0;
    for seed in 0..12 {
        let widths: &[usize] = [&[1, 6, 4, 1][..], &[2, 6, 4, 1], &[3, 5, 3, 1]][seed as usize % 3];
        let grid = [0.5, 0.25, 1.0][(seed as usize / 3) % 3];
        let network = network(widths, 100 + seed, grid);
        let domain = if seed % 4 == 3 { Domain::Space } else { cube(widths[0]) };
        listed += usize::from(check(&network, &domain, seed) == CellMethod::Cells);
    }
    assert!(listed >= 6, "only {listed} networks were special");
}

/// A network of one hidden layer with these rows.
fn of_rows(rows: &[([f64; 2], f64)]) -> Network {
    let weight = Matrix::from_fn(rows.len(), 2, |i, j| rows[i].0[j]);
    let bias = rows.iter().map(|(_, b)| *b).collect();
    let hidden = Layer::new(weight, bias, Activation::Relu);
    let output = Layer::new(Matrix::from_fn(1, rows.len(), |_, _| 1.0), vec![0.0], Activation::Identity);
    Network::new(vec![hidden, output]).unwrap()
}

fn planned(network: &Network, tasks: usize) -> Plan {
    Plan::new(CellsQuestion::new(cube(2)), &[network], tasks, &Deadline::NEVER).unwrap()
}

/// The bodies of the tasks that are missing.
fn bodies(results: &Results) -> Vec<serde_json::Value> {
    let Merged::Missing(tasks) = results.missing().unwrap() else { return Vec::new() };
    let body = |task: &Task| {
        let text = String::from_utf8(task.bytes.clone()).unwrap();
        serde_json::from_str(text.lines().nth(1).unwrap()).unwrap()
    };
    tasks.iter().map(body).collect()
}

/// Neurons that vanish where the domain is cut first: the count begins again with other cuts, and is right.
#[test]
fn cuts_through_vertices_are_made_elsewhere() {
    // Repeated neurons: the complex is not simple, and the cuts do not depend on where its vertices are.
    let special = of_rows(&[([1.0, 0.5], 0.1), ([1.0, 0.5], 0.1)]);
    let first = bodies(&Results::new(&planned(&special, 2)));
    let sides = first[0]["tiles"][0]["sides"].clone();
    let [x, y] = [0usize, 1].map(|axis| sides[axis][1].as_f64().unwrap());
    let (axis, at) = if x < 1.0 { (0, x) } else { (1, y) };
    let unit = |axis: usize, w: f64| if axis == 0 { [w, 0.0] } else { [0.0, w] };
    for rows in [
        vec![(unit(axis, 1.0), -at), (unit(axis, 2.0), -2.0 * at), ([1.0, 1.0], -at)],
        vec![(unit(axis, 1.0), -at), (unit(1 - axis, 1.0), -at), ([1.0, -1.0], 0.0), ([0.0, 0.0], 0.0)],
        vec![([1.0, 1.0], -2.0 * at), ([1.0, -1.0], 0.0), (unit(0, 1.0), -at), (unit(1, 1.0), -at)],
    ] {
        let network = of_rows(&rows);
        let plan = planned(&network, 2);
        let mut results = Results::new(&plan);
        let Merged::Missing(tasks) = results.missing().unwrap() else { panic!("no task") };
        for task in tasks {
            results.add(&plan.work(&task.bytes, &Deadline::NEVER).unwrap()).unwrap();
        }
        assert_eq!(bodies(&results)[0]["attempt"]["number"], 1, "the first cut meets no vertex");
        assert_eq!(check(&network, &cube(2), 1), CellMethod::Cells);
    }
}

/// The box as a plan has it may be flat or open, and a network may have too many inputs.
#[test]
fn what_cannot_be_counted_is_refused_by_the_plan() {
    let network = network(&[2, 3, 1], 0, 0.0);
    let flat = Domain::from_bounds(&[(0.0, 0.0), (-1.0, 1.0)]).unwrap();
    let refused = Plan::new(CellsQuestion::new(flat), &[&network], 4, &Deadline::NEVER);
    assert!(refused.err().unwrap().to_string().contains("the box is flat"));
    let many = super::network(&[25, 3, 1], 0, 0.0);
    let refused = Plan::new(CellsQuestion::new(cube(25)), &[&many], 4, &Deadline::NEVER);
    assert!(refused.err().unwrap().to_string().contains("25 dimensions"));
}
