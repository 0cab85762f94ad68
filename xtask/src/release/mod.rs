//! Everything that leaves the house: crates, wheels, programs, and the version they carry.

mod crates;
mod program;
mod version;
mod wheels;

pub use program::build as program;
pub use version::tell as version;

use crate::shell::Failure;
use crate::web;

/// Makes the packages and tries them out: all of them, or those that are named.
pub fn package(kinds: &[&str]) -> Result<(), Failure> {
    const KINDS: [&str; 3] = ["crates", "wheel", "sdist"];
    if let Some(unknown) = kinds.iter().find(|kind| !KINDS.contains(kind)) {
        return Err(Failure(format!("no kind of package {unknown:?}: there are {}", KINDS.join(", "))));
    }
    // Packages carry the page and the checker.
    web::build(web::Effort::Full)?;
    for kind in KINDS.iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)) {
        match *kind {
            "crates" => crates::package()?,
            "wheel" => wheels::wheel()?,
            _ => wheels::source()?,
        }
    }
    Ok(())
}
