//! The native part of the Python package: numpy arrays and plain values in, networks and answers out.
//!
//! Everything here is thin. A function takes `Net`s, arrays and the `Terms` of the work, calls the library or
//! `fiberscope-report` on another thread without the interpreter's lock, and hands back an object of
//! `answer.rs` with the JSON of the command's `--json` in it; the package around it (`python/fiberscope`)
//! makes typed results of it. `_native.pyi` has the types of everything here, and a test holds it against the
//! module.
#![allow(clippy::too_many_arguments, reason = "functions take what their Python callers pass, one by one")]

mod answer;
mod complex;
mod difference;
mod dimension;
mod error;
mod extract;
mod fiber;
mod linear;
mod network;
mod page;
mod parts;
mod rewrite;
mod survey;
mod tasks;
mod training;
mod work;

use pyo3::prelude::*;

/// The native part of fiberscope.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::answer::{
        Answer, Complex, Construction, Course, Decision, Dimension, Measured, Networks, Picture, Ranges,
        Reproduction, Rewriting, Samples, Search,
    };
    #[pymodule_export]
    use super::complex::{folds, match_folds, plot, regions, slice_along, slice_through};
    #[pymodule_export]
    use super::difference::{bounds, diff, same_class};
    #[pymodule_export]
    use super::dimension::{Device, dimension_on_batch, dimension_on_regions, kernel, observe};
    #[pymodule_export]
    use super::extract::{extract, leak_report};
    #[pymodule_export]
    use super::fiber::{
        conserve, construct, fiber, fiber_contains, fiber_path, fiber_sample, hidden_symmetries, volume,
    };
    #[pymodule_export]
    use super::linear::{
        linear_compress, linear_inspect, linear_move, linear_path, linear_sample, linear_strata, linear_walk,
    };
    #[pymodule_export]
    use super::network::{Net, how_read, load_data, zoo};
    #[pymodule_export]
    use super::page::{ExplorerServer, command, plan_reproduce, report, reproduce, tour, write_explorer};
    #[pymodule_export]
    use super::parts::{Layer, Written, ZooEntry};
    #[pymodule_export]
    use super::rewrite::{align, canon, check, equiv, info, interpolate, reduce, relabel};
    #[pymodule_export]
    use super::survey::{plan_survey, survey_rows};
    #[pymodule_export]
    use super::tasks::{
        Plan, TaskResults, plan_diff, plan_dimensions, plan_equiv, plan_regions, plan_volume,
    };
    #[pymodule_export]
    use super::training::{dynamics, plan_train, task_samples, train};
}
