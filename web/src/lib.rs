//! The library and the checker in a browser, as WebAssembly.
//!
//! A page hands over one JSON object, `{"op": "picture", ...}`, and gets one back; what went wrong comes back
//! as `{"error": "a sentence"}`. Nothing is remembered between two calls, so that the same call gives the
//! same answer in every instance, on the page or in a worker.
//! [`answer`] is the whole interface; [`abi`] is how it is reached from JavaScript.
//!
//! Built with the feature `explorer` this is what the explorer page runs; without it there are the questions
//! `check` and `digest`, and a module small enough for every report.

pub mod abi;
mod check;
#[cfg(feature = "explorer")]
mod explorer;
#[cfg_attr(
    not(feature = "explorer"),
    allow(dead_code, reason = "the checker asks for texts and networks only")
)]
mod request;

use request::Request;
use serde_json::{Value, json};

/// Answers a request.
///
/// ```
/// let answer = fiberscope_web::answer(br#"{"op": "dance"}"#);
/// assert_eq!(answer, r#"{"error":"unknown question \"dance\""}"#);
/// ```
pub fn answer(request: &[u8]) -> String {
    let answered = Request::parse(request).and_then(|request| dispatch(&request));
    answered.unwrap_or_else(|error| json!({"error": error})).to_string()
}

fn dispatch(request: &Request) -> Result<Value, String> {
    match request.text("op")? {
        "check" => check::check(request),
        "digest" => check::digest(request),
        #[cfg(feature = "explorer")]
        op => explorer::dispatch(op, request),
        #[cfg(not(feature = "explorer"))]
        op => Err(request::unknown(op)),
    }
}
