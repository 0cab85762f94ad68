//! Ranks of Jacobians: certificates of random networks, whole and changed, before both checkers.

use fiberscope::rigidity::{RigidityOptions, rigidity};
use fiberscope::{Domain, Network};
use rand::RngExt;

use super::common::rng;
use super::second::Cases;
use super::{add_with_changes, box_of};

#[test]
fn certificates_of_ranks() {
    let (mut cases, mut whole, mut proved) = (Cases::default(), 0, 0);
    let shapes: [&[usize]; 8] = [
        &[2, 2, 1],
        &[1, 3, 1],
        &[2, 3, 2, 1],
        &[3, 3, 2, 1],
        &[2, 3, 3, 2],
        &[2, 2, 2, 2, 1],
        &[3, 1, 2],
        &[2, 1],
    ];
    for seed in 0..64 {
        let rng = &mut rng(900 + seed);
        let shape = shapes[seed as usize % shapes.len()];
        let network = Network::from_widths(shape, || f64::from(rng.random_range(-8..=8i32)) / 4.0).unwrap();
        let domain = if seed % 3 == 0 { box_of(-2.0, 2.0, shape[0]) } else { Domain::Space };
        let options = RigidityOptions::new().thorough(seed % 2 == 0).seed(seed);
        let found = rigidity(&network, &domain, &options).unwrap();
        let Some(certificate) = &found.certificate else { continue };
        whole += usize::from(found.used[2] > 0);
        proved += usize::from(found.is_proved());
        add_with_changes(&mut cases, rng, &format!("{shape:?}, {seed}"), certificate, &network, &network);
    }
    assert!(whole > 3 && proved > 10, "{whole} {proved}");
    let answers = cases.compare();
    assert!(answers["proved"] > 60 && answers["refused"] > 60 && answers["unreadable"] > 20, "{answers:?}");
}
