//! Certificates about classes: those that the search finds on generated pairs, and changed ones.

use std::time::Duration;

use fiberscope::difference::{Sureness, Top1Options, decide};
use fiberscope::limit::Deadline;
use fiberscope::{Evidence, Rational};
use rand::RngExt;
use serde_json::json;

use super::common::rng;
use super::difference::{domain, pair};
use super::second::{Cases, ask};

#[test]
fn trees_of_classes() {
    let mut cases = Cases::default();
    let rng = &mut rng(21);
    let (mut certificates, mut weighted) = (0, 0);
    while certificates < 60 {
        let [a, b] = pair(rng, false);
        if a.output_width() < 2 {
            continue;
        }
        let domain = domain(rng, a.input_width(), false);
        let margin = [0.0, 0.1, 0.7][rng.random_range(0..3)];
        let options = Top1Options::new()
            .sureness(Sureness::Margin(Rational::from_f64(margin).unwrap()))
            .deadline(Deadline::after(Some(Duration::from_secs(2))));
        let Some(certificate) = decide(&a, &b, &domain, &options).unwrap().certificate else { continue };
        let Evidence::Decision { tree, .. } = &certificate.evidence else { continue };
        // Those with more to say are rarer.
        let text = json!(tree).to_string();
        if text.len() > 4000 || (text.len() < 20 && rng.random_range(0..4) > 0) {
            continue;
        }
        certificates += 1;
        weighted += usize::from(text.contains("[["));
        let name = format!("decision {certificates}");
        super::add_with_changes(&mut cases, rng, &name, &certificate, &a, &b);
        if certificates % 10 == 0 {
            let text = certificate.to_json();
            let asked = |margin: f64| ask(&text, &a, &b, &[("claim", json!(format!("same_class={margin}")))]);
            assert_eq!(asked(margin + 0.5), "proved");
            assert_eq!(asked(0.0), if margin == 0.0 { "proved" } else { "refused" });
        }
    }
    let answers = cases.compare();
    assert!(answers["proved"] >= 60 && answers["refused"] > 60 && answers["unreadable"] > 20, "{answers:?}");
    assert!(weighted > 5, "{weighted}");
}
