//! What is measured of a network.

use std::cell::OnceCell;

use fiberscope_core::{Domain, Network, Role, Strictness};
use serde::{Deserialize, Serialize};

use super::Plan;
use crate::anatomy::{Anatomy, examine, undecided};
use crate::complex::{ComplexOptions, Transparency, TransparencyOptions};
use crate::dimension::{
    DimensionOptions, NeuronState, RegionSample, full_functional_dimension, list_regions,
};
use crate::fiber::{Identifiability, symmetries};
use crate::limit::Deadline;
use crate::rigidity::{RigidityOptions, rigidity};
use crate::symmetries::{Mechanism, explained_on};

/// What is measured of a network. Truth values are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Whether the parameters are determined by the function up to permutation and scaling: among generic
    /// parameters, where the theory covers the network.
    Identifiable,
    /// Whether the parameters near the given ones with the same function are positive scalings: 1 with a checked
    /// certificate, 0 where a symmetry is known, undecided otherwise.
    LocallyIdentifiable,
    /// The dimension of the fiber modulo permutation and scaling, where the theory covers the network.
    FiberDimension,
    /// The rank of the parameter Jacobian on all linear regions, where they can be listed.
    FunctionalDimension,
    /// The number of linear regions.
    Regions,
    /// The number of hidden layers with a neuron whose hyperplane the next layer hides.
    Hidden,
    /// The number of dead neurons.
    Dead,
    /// The number of linear neurons.
    Linear,
    /// Whether every hidden layer has an active neuron at every input.
    Transparent,
    /// The dimension of the kernel of the parameter Jacobian beyond scalings, where all regions can be listed.
    Gap,
    /// How many dimensions of the gap [`Mechanism::Dead`] explains.
    GapDead,
    /// How many dimensions of the gap [`Mechanism::Unseen`] explains.
    GapUnseen,
    /// How many dimensions of the gap [`Mechanism::Idle`] explains.
    GapIdle,
    /// How many dimensions of the gap [`Mechanism::Linear`] explains.
    GapLinear,
    /// How many dimensions of the gap [`Mechanism::Hidden`] explains.
    GapHidden,
    /// How many dimensions of the gap [`Mechanism::Twins`] explains.
    GapTwins,
    /// How many dimensions of the gap [`Mechanism::Proportional`] explains.
    GapProportional,
    /// How many dimensions of the gap [`Mechanism::Dependent`] explains.
    GapDependent,
    /// How many dimensions of the gap [`Mechanism::Balanced`] explains.
    GapBalanced,
    /// How many dimensions of the gap [`Mechanism::Unrecognised`] explains.
    GapUnrecognised,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 20] = [
        Measure::Identifiable,
        Measure::LocallyIdentifiable,
        Measure::FiberDimension,
        Measure::FunctionalDimension,
        Measure::Regions,
        Measure::Hidden,
        Measure::Dead,
        Measure::Linear,
        Measure::Transparent,
        Measure::Gap,
        Measure::GapDead,
        Measure::GapUnseen,
        Measure::GapIdle,
        Measure::GapLinear,
        Measure::GapHidden,
        Measure::GapTwins,
        Measure::GapProportional,
        Measure::GapDependent,
        Measure::GapBalanced,
        Measure::GapUnrecognised,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Identifiable => "identifiable",
            Measure::LocallyIdentifiable => "locally-identifiable",
            Measure::FiberDimension => "fiber-dimension",
            Measure::FunctionalDimension => "functional-dimension",
            Measure::Regions => "regions",
            Measure::Hidden => "hidden",
            Measure::Dead => "dead",
            Measure::Linear => "linear",
            Measure::Transparent => "transparent",
            Measure::Gap => "gap",
            Measure::GapDead => "gap-dead",
            Measure::GapUnseen => "gap-unseen",
            Measure::GapIdle => "gap-idle",
            Measure::GapLinear => "gap-linear",
            Measure::GapHidden => "gap-hidden",
            Measure::GapTwins => "gap-twins",
            Measure::GapProportional => "gap-proportional",
            Measure::GapDependent => "gap-dependent",
            Measure::GapBalanced => "gap-balanced",
            Measure::GapUnrecognised => "gap-unrecognised",
        }
    }

    /// The measure of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Measure::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Whether it is a truth value.
    pub fn is_truth(self) -> bool {
        matches!(self, Measure::Identifiable | Measure::LocallyIdentifiable | Measure::Transparent)
    }

    /// The mechanism whose part of the gap it is.
    fn mechanism(self) -> Option<Mechanism> {
        Some(match self {
            Measure::GapDead => Mechanism::Dead,
            Measure::GapUnseen => Mechanism::Unseen,
            Measure::GapIdle => Mechanism::Idle,
            Measure::GapLinear => Mechanism::Linear,
            Measure::GapHidden => Mechanism::Hidden,
            Measure::GapTwins => Mechanism::Twins,
            Measure::GapProportional => Mechanism::Proportional,
            Measure::GapDependent => Mechanism::Dependent,
            Measure::GapBalanced => Mechanism::Balanced,
            Measure::GapUnrecognised => Mechanism::Unrecognised,
            _ => return None,
        })
    }

    /// Whether it is read off signs, or nearly so.
    pub(super) fn is_quick(self) -> bool {
        matches!(
            self,
            Measure::Identifiable
                | Measure::FiberDimension
                | Measure::Hidden
                | Measure::Dead
                | Measure::Linear
        )
    }
}

/// Linear programs for the transparency of one network.
const PROGRAMS: usize = 20_000;

/// The measures of a plan for one network; what was measured is to be used only if it is not late then.
pub(super) fn measured(
    plan: &Plan,
    network: &Network,
    domain: &Domain,
    deadline: &Deadline,
) -> Vec<Option<f64>> {
    let facts = Facts {
        plan,
        network,
        domain,
        deadline,
        anatomy: OnceCell::new(),
        regions: OnceCell::new(),
        explained: OnceCell::new(),
    };
    plan.measures.iter().map(|&measure| facts.value(measure)).collect()
}

struct Facts<'a> {
    plan: &'a Plan,
    network: &'a Network,
    domain: &'a Domain,
    deadline: &'a Deadline,
    anatomy: OnceCell<Anatomy>,
    regions: OnceCell<Option<RegionSample>>,
    explained: OnceCell<Option<Vec<usize>>>,
}

impl Facts<'_> {
    fn anatomy(&self) -> &Anatomy {
        self.anatomy.get_or_init(|| examine(self.network, self.domain, self.deadline))
    }

    fn regions(&self) -> Option<&RegionSample> {
        let listed = || {
            let options = ComplexOptions::new().regions(self.plan.regions).deadline(self.deadline.clone());
            list_regions(self.network, self.domain, &options).ok().flatten()
        };
        self.regions.get_or_init(listed).as_ref()
    }

    /// How many dimensions each mechanism explains.
    fn explained(&self) -> Option<&Vec<usize>> {
        let explained = || explained_on(self.network, self.regions()?, self.deadline);
        self.explained.get_or_init(explained).as_ref()
    }

    fn value(&self, measure: Measure) -> Option<f64> {
        let truth = |value: bool| f64::from(u8::from(value));
        let count = |value: usize| value as f64;
        let roles = |role: Role, state: NeuronState| {
            let roles = self.network.roles(self.domain);
            // Those of the first layer are certain.
            if undecided(self.network, self.domain, &roles, 1, self.deadline).is_empty() {
                return Some(count(roles.iter().flatten().filter(|&&each| each == role).count()));
            }
            self.regions()?.states().map(|layers| count(layers.iter().map(|layer| layer.count(state)).sum()))
        };
        match measure {
            Measure::Identifiable => match &self.anatomy().identifiability {
                Identifiability::Yes { .. } => Some(1.0),
                Identifiability::No { .. } => Some(0.0),
                Identifiability::Unknown { .. } => None,
            },
            Measure::LocallyIdentifiable => self.is_locally_identifiable().map(truth),
            Measure::FiberDimension => self.anatomy().fiber.and_then(|facts| facts.dimension).map(count),
            Measure::FunctionalDimension => {
                let options = DimensionOptions::new().layer_bound(false).deadline(self.deadline.clone());
                let found = full_functional_dimension(self.network, self.regions()?, &options);
                found.rank.value().map(count)
            }
            Measure::Regions => self.regions().map(|regions| count(regions.count())),
            Measure::Hidden => {
                let layers = 0..self.network.hidden_depth();
                let hides = |layer: &usize| self.network.hidden_unit(*layer, Strictness::Weak).is_some();
                Some(count(layers.filter(hides).count()))
            }
            Measure::Dead => roles(Role::Dead, NeuronState::Inactive),
            Measure::Linear => roles(Role::Linear, NeuronState::Active),
            Measure::Gap => self.explained().map(|found| count(found.iter().sum())),
            Measure::GapDead
            | Measure::GapUnseen
            | Measure::GapIdle
            | Measure::GapLinear
            | Measure::GapHidden
            | Measure::GapTwins
            | Measure::GapProportional
            | Measure::GapDependent
            | Measure::GapBalanced
            | Measure::GapUnrecognised => {
                let mechanism = measure.mechanism()?;
                let place = Mechanism::ALL.iter().position(|each| *each == mechanism)?;
                self.explained().map(|found| count(found[place]))
            }
            Measure::Transparent => {
                let options = TransparencyOptions::new().programs(PROGRAMS).deadline(self.deadline.clone());
                let found = Transparency::new(self.network, self.domain, &options).ok()?;
                found.is_transparent().map(truth)
            }
        }
    }

    /// By a symmetry that moves the parameters continuously, or by a certificate.
    fn is_locally_identifiable(&self) -> Option<bool> {
        let known = symmetries(&self.network.to_exact(), self.domain);
        if known.dimension > known.scalings {
            return Some(false);
        }
        let options = RigidityOptions::new().deadline(self.deadline.clone());
        rigidity(self.network, self.domain, &options).ok().filter(|found| found.is_proved()).map(|_| true)
    }
}
