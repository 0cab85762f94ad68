//! The plane that is shown.

use fiberscope::complex::on_plane;
use fiberscope_core::Network;
use serde::Deserialize;

use crate::request::Request;

/// `origin + s u + t v`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    origin: Vec<f64>,
    u: Vec<f64>,
    v: Vec<f64>,
}

impl Plane {
    /// The plane that a request names, for a network with so many inputs; `None` for the plane of both
    /// inputs.
    pub fn of(request: &Request, inputs: usize) -> Result<Option<Plane>, String> {
        let Some(plane) = request.optional::<Plane>("plane")? else {
            if inputs == 2 {
                return Ok(None);
            }
            return Err(format!("\"plane\" is missing: the network has {inputs} inputs"));
        };
        for (name, vector) in [("origin", &plane.origin), ("u", &plane.u), ("v", &plane.v)] {
            if vector.len() != inputs {
                let found = vector.len();
                return Err(format!(
                    "plane, {name}: expected {inputs} numbers (one per input), found {found}"
                ));
            }
            if !vector.iter().all(|x| x.is_finite()) {
                return Err(format!("plane, {name}: expected finite numbers"));
            }
        }
        Ok(Some(plane))
    }

    /// The point of the input space with these coordinates.
    pub fn point(plane: Option<&Plane>, [s, t]: [f64; 2]) -> Vec<f64> {
        match plane {
            None => vec![s, t],
            Some(plane) => {
                let directions = plane.u.iter().zip(&plane.v);
                plane.origin.iter().zip(directions).map(|(x, (u, v))| x + s * u + t * v).collect()
            }
        }
    }
}

/// The network on the plane.
pub fn restricted(network: Network, plane: Option<&Plane>) -> Result<Network, String> {
    let Some(plane) = plane else { return Ok(network) };
    on_plane(&network, &plane.origin, [&plane.u, &plane.v]).map_err(|error| format!("on the plane: {error}"))
}
