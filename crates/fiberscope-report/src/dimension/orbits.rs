//! Orbits and stabilisers of the hidden symmetry groups: found, told, compared with Propositions A.8 and
//! A.10.

use fiberscope::dimension::{
    DimensionError, HiddenGroup, LayerStates, NeuronState, OrbitDimension, orbit_dimension, roughly_monotonic,
};
use fiberscope::limit::Deadline;
use fiberscope_core::{Network, RankBounds};
use serde_json::{Value, json};

use super::DimensionSummary;
use crate::text::Lines;

/// Adds the orbits to a summary; a group that is too large is named in a warning.
pub fn add_orbits(
    summary: &mut DimensionSummary,
    network: &Network,
    deadline: &Deadline,
) -> Result<(), DimensionError> {
    let mut states: Vec<LayerStates> = network
        .hidden_layers()
        .iter()
        .map(|layer| LayerStates { neurons: vec![NeuronState::Switching; layer.width()] })
        .collect();
    for (layer, unit, state) in &summary.neurons {
        let found =
            [NeuronState::Active, NeuronState::Inactive].into_iter().find(|known| known.name() == *state);
        if let Some(found) = found {
            states[layer - 1].neurons[unit - 1] = found;
        }
    }
    for group in [HiddenGroup::Scalings, HiddenGroup::Mixed, HiddenGroup::Hidden] {
        match orbit_dimension(network, group, &states, deadline) {
            Ok(orbit) => summary.orbits.push(orbit),
            Err(DimensionError::Limit(reached)) => {
                summary.warnings.push(format!("the orbit of the group of {}: {reached}", describe(group)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn describe(group: HiddenGroup) -> &'static str {
    match group {
        HiddenGroup::Scalings => "positive scalings",
        HiddenGroup::Mixed => "scalings, and linear maps of always-active neurons",
        HiddenGroup::Hidden => "linear maps of every hidden layer",
    }
}

/// `4`, or `3 to 5`.
fn range(bounds: RankBounds) -> String {
    if bounds.lower == bounds.upper {
        bounds.lower.to_string()
    } else {
        format!("{} to {}", bounds.lower, bounds.upper)
    }
}

/// What Proposition A.8 says of these widths, and whether it is so here.
fn verdict(widths: &[usize], hidden: &OrbitDimension) -> String {
    let (shrinking, growing) = roughly_monotonic(widths);
    let trivial = hidden.stabiliser().upper == 0;
    match (shrinking, growing) {
        (true, _) if trivial => "trivial, as Proposition A.8 (i) has it for almost all parameters".into(),
        (true, _) => {
            "Proposition A.8 (i) has a trivial one for almost all parameters: this is one of the others"
                .into()
        }
        (false, true) if trivial => "trivial, as Proposition A.8 (ii) has it".into(),
        (false, true) => {
            "Proposition A.8 (ii) has a trivial one; its proof has a gap, and it is false for widths 1,4,3"
                .into()
        }
        (false, false) => "the widths are not roughly monotonic: Proposition A.8 says nothing".into(),
    }
}

impl DimensionSummary {
    pub(super) fn add_orbits_to(&self, out: &mut Lines) {
        for orbit in &self.orbits {
            let (own, stabiliser) = (range(orbit.orbit), range(orbit.stabiliser()));
            out.fact(
                if orbit.group == HiddenGroup::Scalings { "orbits" } else { "" },
                &format!(
                    "{} ({}): group {}, orbit {own}, stabiliser {stabiliser}",
                    orbit.group.name(),
                    describe(orbit.group),
                    orbit.dimension
                ),
            );
            if orbit.group == HiddenGroup::Hidden {
                out.fact("stabiliser", &verdict(&self.widths, orbit));
            }
        }
    }

    pub(super) fn orbits_json(&self) -> Value {
        let (shrinking, growing) = roughly_monotonic(&self.widths);
        let one = |orbit: &OrbitDimension| {
            let stabiliser = orbit.stabiliser();
            json!({
                "group": orbit.group.name(), "dimension": orbit.dimension,
                "orbit": [orbit.orbit.lower, orbit.orbit.upper], "stabiliser": [stabiliser.lower, stabiliser.upper],
            })
        };
        json!({
            "groups": self.orbits.iter().map(one).collect::<Vec<_>>(),
            "roughly_monotonic_i": shrinking, "roughly_monotonic_ii": growing,
        })
    }
}
