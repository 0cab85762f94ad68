//! The polyhedral complex on the part of the plane that is shown: regions with their affine maps, folds with
//! their weights.

use std::time::Duration;

use fiberscope::complex::{Built, ComplexOptions, PolyhedralComplex, unseen_neurons, weigh_by_paths};
use fiberscope::limit::Deadline;
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network, Sign};
use serde_json::{Value, json};

use super::plane::{Plane, restricted};
use crate::request::Request;

/// More regions than these are not drawn.
const DRAWN: u64 = 20_000;
/// Nor is anything that takes longer.
const PATIENCE: Duration = Duration::from_secs(4);

/// `{"network", "plane", "view": [[x0, x1], [y0, y1]], "output"}` to
/// `{"regions": [{"p": [x, y, ...], "a": [gx, gy, c]}], "folds": [{"p": [x, y, x, y], "l", "u", "w", "hidden"}]}`.
pub fn picture(request: &Request) -> Result<Value, String> {
    let network = request.network("network")?;
    let plane = Plane::of(request, network.input_width())?;
    let outputs = network.output_width();
    let output: usize = request.optional("output")?.unwrap_or(0);
    if output >= outputs {
        return Err(format!("\"output\": expected a number below {outputs}, found {output}"));
    }
    let view: [(f64, f64); 2] = request.part("view")?;
    let network = restricted(network, plane.as_ref())?;
    let domain = Domain::from_bounds(&view).ok_or("\"view\": expected finite numbers")?;
    let limits = ComplexOptions::new().regions(DRAWN).deadline(Deadline::after(Some(PATIENCE)));
    let built = PolyhedralComplex::build(&network, &domain, &limits);
    match built.map_err(|error| format!("view: {error}"))? {
        Built::Complete(complex) => Ok(drawn(&complex, &network, output)),
        Built::Stopped { .. } => {
            Ok(json!({"stopped": format!("more than {DRAWN} regions, or too slow; zoom in")}))
        }
    }
}

fn drawn(complex: &PolyhedralComplex, network: &Network, output: usize) -> Value {
    let facets = weigh_by_paths(complex);
    let regions: Vec<Value> = complex
        .regions()
        .map(|region| {
            let corner = |v: u32| complex.point(v as usize).iter().copied();
            let corners: Vec<f64> = region.cell().polygon().into_iter().flat_map(corner).collect();
            json!({"p": corners, "a": affine_row(network, output, region.cell().signs())})
        })
        .collect();
    let hidden = unseen_neurons(complex, &facets);
    let folds: Vec<Value> = facets
        .iter()
        .map(|facet| {
            let ends = complex.cell(1, facet.facet).vertices();
            let ends: Vec<f64> =
                ends.into_iter().flat_map(|v| complex.point(v as usize).iter().copied()).collect();
            let neurons: Vec<_> = facet.neurons.iter().map(|&h| complex.neuron(h)).collect();
            json!({
                "p": ends,
                "l": neurons[0].layer,
                "u": neurons[0].unit,
                "all": neurons.iter().map(|n| [n.layer, n.unit]).collect::<Vec<_>>(),
                "w": if facet.visible { facet.weight.clone() } else { vec![0.0; facet.weight.len()] },
                "visible": facet.visible,
                "hidden": !facet.visible && neurons.iter().all(|neuron| hidden.contains(neuron)),
            })
        })
        .collect();
    json!({"regions": regions, "folds": folds, "method": complex.method().name()})
}

/// Gradient and constant of one output where the signs of the ReLU neurons are these.
fn affine_row(network: &Network, output: usize, signs: &[Sign]) -> [f64; 3] {
    let last = &network.layers()[network.hidden_depth()];
    let mut row = last.weight().row(output).to_vec();
    let mut constant = last.bias()[output];
    let mut end = signs.len();
    for layer in network.hidden_layers().iter().rev() {
        let relu = layer.activation() == Activation::Relu;
        let begin = if relu { end - layer.width() } else { end };
        let mut below = vec![0.0; layer.input_width()];
        for (i, &w) in row.iter().enumerate() {
            if w != 0.0 && (!relu || signs[begin + i] == Sign::Positive) {
                constant += w * layer.bias()[i];
                below.iter_mut().zip(layer.weight().row(i)).for_each(|(sum, v)| *sum += w * v);
            }
        }
        (row, end) = (below, begin);
    }
    [row[0], row[1], constant]
}

/// `{"network", "plane", "at": [s, t]}`: the sign vector at a point and the affine map there, on the inputs.
pub fn region(request: &Request) -> Result<Value, String> {
    let network = request.network("network")?;
    let plane = Plane::of(request, network.input_width())?;
    let x = Plane::point(plane.as_ref(), request.part("at")?);
    let signs = network.sign_vector(&x).map_err(|error| error.to_string())?;
    let map = network.affine_map(&signs).map_err(|error| error.to_string())?;
    Ok(json!({
        "x": x,
        "value": network.evaluate(&x).map_err(|error| error.to_string())?,
        "signs": signs.to_string(),
        "matrix": map.matrix().iter_rows().collect::<Vec<_>>(),
        "constant": map.constant(),
    }))
}

/// `{"network", "plane", "at", "layer", "unit"}`: the gradient of a neuron's pre-activation on the plane, at
/// a point.
pub fn gradient(request: &Request) -> Result<Value, String> {
    let network = request.network("network")?;
    let plane = Plane::of(request, network.input_width())?;
    let (layer, unit): (usize, usize) = (request.part("layer")?, request.part("unit")?);
    if network.layers().get(layer).is_none_or(|layer| unit >= layer.width()) {
        return Err(format!(
            "there is no neuron {} in layer {}",
            unit.saturating_add(1),
            layer.saturating_add(1)
        ));
    }
    let network = neuron_alone(&restricted(network, plane.as_ref())?, layer, unit)?;
    let at: [f64; 2] = request.part("at")?;
    let gradient = network.jacobian(&at).map_err(|error| error.to_string())?;
    let value = network.evaluate(&at).map_err(|error| error.to_string())?;
    Ok(json!({"gradient": gradient.row(0), "value": value[0]}))
}

/// The network whose output is the pre-activation of a neuron.
fn neuron_alone(network: &Network, layer: usize, unit: usize) -> Result<Network, String> {
    let mut layers = network.layers()[..layer].to_vec();
    let own = &network.layers()[layer];
    let row = Matrix::from_rows(&[own.weight().row(unit)]).expect("one row");
    layers.push(Layer::new(row, vec![own.bias()[unit]], Activation::Identity));
    Network::new(layers).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, refusal, zoo};
    use serde_json::{Value, json};

    const VIEW: [[f64; 2]; 2] = [[-2.0, 2.0], [-1.0, 3.0]];

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    #[test]
    fn regions_tile_the_view_and_their_maps_are_the_function() {
        let picture = ask(&json!({"op": "picture", "network": zoo("deep"), "view": VIEW}));
        let mut area = 0.0;
        for region in picture["regions"].as_array().unwrap() {
            let (p, a) = (numbers(&region["p"]), numbers(&region["a"]));
            let n = p.len() / 2;
            let corner = |i: usize| (p[2 * (i % n)], p[2 * (i % n) + 1]);
            let twice: f64 =
                (0..n).map(|i| corner(i).0 * corner(i + 1).1 - corner(i + 1).0 * corner(i).1).sum();
            area += twice.abs() / 2.0;
            let x = [
                (0..n).map(|i| corner(i).0).sum::<f64>() / n as f64,
                (0..n).map(|i| corner(i).1).sum::<f64>() / n as f64,
            ];
            let at = ask(&json!({"op": "region", "network": zoo("deep"), "at": x}));
            let value = at["value"][0].as_f64().unwrap();
            assert!((a[0] * x[0] + a[1] * x[1] + a[2] - value).abs() < 1e-9);
            assert!((at["matrix"][0][0].as_f64().unwrap() - a[0]).abs() < 1e-9);
        }
        assert!((area - 16.0).abs() < 1e-9, "{area}");
    }

    #[test]
    fn folds_lie_where_their_neuron_vanishes() {
        let picture = ask(&json!({"op": "picture", "network": zoo("deep"), "view": VIEW}));
        let folds = picture["folds"].as_array().unwrap();
        assert!(folds.iter().any(|fold| fold["l"] == 2) && folds.iter().any(|fold| fold["visible"] == true));
        for fold in folds {
            let p = numbers(&fold["p"]);
            let middle = [(p[0] + p[2]) / 2.0, (p[1] + p[3]) / 2.0];
            let at = ask(&json!({
                "op": "gradient", "network": zoo("deep"), "at": middle, "layer": fold["l"], "unit": fold["u"],
            }));
            assert!(at["value"].as_f64().unwrap().abs() < 1e-9, "{fold}");
        }
    }

    #[test]
    fn other_numbers_of_inputs_need_a_plane() {
        let mut request = json!({"op": "picture", "network": zoo("hiding-two"), "view": VIEW});
        assert_eq!(refusal(&request), "\"plane\" is missing: the network has 3 inputs");
        request["plane"] = json!({"origin": [0, 0, 0], "u": [1, 0, 0], "v": [0, 1]});
        assert_eq!(refusal(&request), "plane, v: expected 3 numbers (one per input), found 2");
        request["plane"]["v"] = json!([0, 1, 0]);
        request["view"] = json!([[-8, 8], [-8, 8]]);
        let picture = ask(&request);
        assert!(picture["folds"].as_array().unwrap().iter().any(|fold| fold["hidden"] == true));
        let line = json!({"origin": [0], "u": [1], "v": [0]});
        let strips = ask(&json!({"op": "picture", "network": zoo("tent"), "view": VIEW, "plane": line}));
        assert_eq!(strips["regions"].as_array().unwrap().len(), 4);
    }

    #[test]
    fn views_without_area_are_refused() {
        for view in
            [json!([[1, 1], [0, 1]]), json!([[0, 1], [2, 1]]), json!([[0, "x"], [0, 1]]), json!([0, 1])]
        {
            refusal(&json!({"op": "picture", "network": zoo("deep"), "view": view}));
        }
        let other = refusal(&json!({"op": "picture", "network": zoo("deep"), "view": VIEW, "output": 1}));
        assert_eq!(other, "\"output\": expected a number below 1, found 1");
        let gradient = json!({"op": "gradient", "network": zoo("deep"), "at": [0, 0], "layer": 7, "unit": 0});
        assert_eq!(refusal(&gradient), "there is no neuron 1 in layer 8");
    }
}
