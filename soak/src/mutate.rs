//! Certificates changed in one place: refused, or what they say is still true.

use fiberscope_core::Rational;
use serde_json::{Value, json};

use crate::generate::Maker;

/// The certificate with one number changed, a list shortened or turned, or another domain; `None` if nothing
/// can be changed at the place that was drawn.
pub fn mutate(certificate: &Value, maker: &mut Maker) -> Option<Value> {
    let mut mutant = certificate.clone();
    match maker.below(8) {
        0 => {
            let evidence = mutant["evidence"].as_object_mut()?;
            let (a, b) = (evidence.get("a")?.clone(), evidence.get("b")?.clone());
            evidence.insert("a".into(), b);
            evidence.insert("b".into(), a);
        }
        1 => mutant["domain"] = domain(&certificate["domain"], maker)?,
        2 => {
            let mut lists = Vec::new();
            places(certificate, String::new(), &mut lists, &|value| {
                value.as_array().is_some_and(|x| !x.is_empty())
            });
            let at = &lists[maker.below(lists.len().max(1)).min(lists.len().checked_sub(1)?)];
            let list = mutant.pointer_mut(at)?.as_array_mut()?;
            let i = maker.below(list.len());
            match maker.below(3) {
                0 => drop(list.remove(i)),
                1 => list.insert(i, list[i].clone()),
                _ => {
                    let j = maker.below(list.len());
                    list.swap(i, j);
                }
            }
        }
        _ => {
            let mut numbers = Vec::new();
            places(&certificate["evidence"], "/evidence".into(), &mut numbers, &is_number);
            let at = numbers.get(maker.below(numbers.len().max(1)))?;
            let value = mutant.pointer_mut(at)?;
            *value = changed(value, maker)?;
        }
    }
    (mutant != *certificate).then_some(mutant)
}

fn is_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.parse::<Rational>().is_ok(),
        _ => false,
    }
}

/// The places of values of one sort, as JSON pointers.
fn places(value: &Value, path: String, found: &mut Vec<String>, wanted: &dyn Fn(&Value) -> bool) {
    if wanted(value) {
        found.push(path.clone());
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, format!("{path}/{i}"), found, wanted));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| places(item, format!("{path}/{key}"), found, wanted));
        }
        _ => {}
    }
}

fn changed(value: &Value, maker: &mut Maker) -> Option<Value> {
    if let Some(n) = value.as_u64() {
        return Some(json!(match maker.below(4) {
            0 => n + 1,
            1 => n.saturating_sub(1),
            2 => n + (1 << 40),
            _ => 1 + maker.below(4) as u64,
        }));
    }
    let x: Rational = value.as_str()?.parse().ok()?;
    let tiny = Rational::dyadic(1, -40);
    let y = match maker.below(7) {
        0 => &x + &Rational::ONE,
        1 => -&x,
        2 => &x + &tiny,
        3 => &x - &tiny,
        4 => &x * &Rational::from(2),
        5 => &x / &Rational::from(3),
        _ => Rational::ZERO,
    };
    Some(json!(y.to_string()))
}

/// A larger domain, or one with a side changed.
fn domain(domain: &Value, maker: &mut Maker) -> Option<Value> {
    if maker.percent(30) {
        return Some(json!("space"));
    }
    let mut other = domain.clone();
    let sides = other.get_mut("box")?.as_array_mut()?;
    let at = maker.below(sides.len());
    let end = maker.below(2);
    let side = sides[at].as_array_mut()?;
    side[end] =
        if maker.percent(30) || side[end].is_null() { Value::Null } else { changed(&side[end], maker)? };
    Some(other)
}
