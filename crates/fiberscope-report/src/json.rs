//! Exact numbers as JSON values, and objects put together.

use fiberscope_core::{Rational, decimal};
use serde_json::{Value, json};

/// An upper bound as a number that is not below it, or as a decimal text where no double is close: beyond
/// their range, and below the least one.
pub fn upper(x: &Rational) -> Value {
    match decimal::fits_f64(x) {
        Some(_) if decimal::upper_f64(x).is_finite() => json!(decimal::upper_f64(x)),
        _ => json!(decimal::upper(x)),
    }
}

/// A lower bound, likewise.
pub fn lower(x: &Rational) -> Value {
    match decimal::fits_f64(x) {
        Some(_) if decimal::lower_f64(x).is_finite() => json!(decimal::lower_f64(x)),
        _ => json!(decimal::lower(x)),
    }
}

/// A number as the nearest double, or as a decimal text where no double is close.
pub fn number(x: &Rational) -> Value {
    decimal::fits_f64(x).map_or_else(|| json!(decimal::nearest(x, 17)), |x| json!(x))
}

/// An object with the entries of a second one behind its own.
pub fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(entries), Value::Object(more)) = (&mut first, second) {
        entries.extend(more);
    }
    first
}
