//! Other parameters with the same function, each with its certificate.

use crate::certificate;
use crate::page::Section;
use anyhow::bail;
use fiberscope::fiber::{Symmetry, symmetries};
use fiberscope::limit::Deadline;
use fiberscope::orbit::relabel;
use fiberscope::reduce::{ReduceOptions, reduce};
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Domain, Move, MoveChain, Network};

use crate::equivalence::certify;

/// Larger networks are not rewritten for a report: the page would hold each of them several times.
const LARGEST: usize = 1 << 16;

/// A network with the same function, and the section that proves it.
pub struct Proof {
    pub name: String,
    pub network: Network,
    pub section: Section,
}

/// The proofs of a report.
pub struct Proofs<'a> {
    name: &'a str,
    network: &'a Network,
    found: Vec<Proof>,
}

impl<'a> Proofs<'a> {
    /// A permuted and scaled twin, the reduced network, and translations of hidden hyperplanes.
    pub fn of(
        name: &'a str,
        network: &'a Network,
        domain: &Domain,
        seed: u64,
        deadline: &Deadline,
    ) -> anyhow::Result<Vec<Proof>> {
        let mut proofs = Proofs { name, network, found: Vec::new() };
        if network.parameter_count() > LARGEST {
            return Ok(proofs.found);
        }
        if network.hidden_depth() > 0 {
            let twin = relabel(network, seed);
            proofs.add("its twin, permuted and scaled", twin.network, &twin.certificate)?;
        }
        proofs.reduced(domain, deadline)?;
        proofs.translated()?;
        Ok(proofs.found)
    }

    fn reduced(&mut self, domain: &Domain, deadline: &Deadline) -> anyhow::Result<()> {
        let options = ReduceOptions::new().deadline(deadline.clone());
        let reduction = reduce(&self.network.to_exact(), domain, &options)?;
        let smaller = reduction.network.parameter_count() < self.network.parameter_count();
        if !smaller {
            return Ok(());
        }
        let (rounded, _) = reduction.network.to_f64()?;
        match certify(self.network, &rounded, &reduction.moves, domain) {
            Some(certificate) => self.add("the reduced network", rounded, &certificate),
            // Rounded parameters: there is nothing exact to show.
            None => Ok(()),
        }
    }

    fn translated(&mut self) -> anyhow::Result<()> {
        let exact = self.network.to_exact();
        for symmetry in symmetries(&exact, &Domain::Space).symmetries {
            let Symmetry::Translation { neuron, least } = symmetry else { continue };
            let amount = Move::Translate { layer: neuron.layer, unit: neuron.unit, amount: least };
            let chain = MoveChain::from(vec![amount]);
            let mut moved = exact.clone();
            chain.apply(&mut moved, &Domain::Space)?;
            let (rounded, _) = moved.to_f64()?;
            if let Some(certificate) = certify(self.network, &rounded, &chain, &Domain::Space) {
                self.add(&format!("the same with {neuron} translated"), rounded, &certificate)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, network: Network, proof: &Certificate) -> anyhow::Result<()> {
        let section = checked((self.name, name), proof, self.network, &network)?;
        self.found.push(Proof { name: name.into(), network, section });
        Ok(())
    }
}

/// The section of a certificate that the checker accepts.
pub fn checked(
    names: (&str, &str),
    proof: &Certificate,
    a: &Network,
    b: &Network,
) -> anyhow::Result<Section> {
    match check(proof, a, b) {
        Outcome::Refused(refusal) => {
            bail!("the certificate for {} and {} was refused: {refusal}", names.0, names.1)
        }
        outcome @ (Outcome::Proved(_) | Outcome::Stopped) => Ok(certificate::section(names, proof, &outcome)),
    }
}
