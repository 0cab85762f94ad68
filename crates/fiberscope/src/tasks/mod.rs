//! Long questions as tasks that any number of workers do, on any machines, in any order.
//!
//! A [`Plan`] is a question with its networks, written down once. [`Results::merge`] gives its answer or the tasks
//! that are missing for it; [`Plan::work`] makes of a task, which is bytes, its result, which is bytes. Both are
//! functions of what they are given: the same results give the same answer, whatever their order, however often
//! they come, and however the work was cut. The engine that carries bytes to workers and back is somebody else's: a batch system, a
//! process pool, a cluster.
//!
//! ```
//! use fiberscope::tasks::{Answer, CellsQuestion, Merged, Plan, Results};
//! use fiberscope::{Deadline, Domain, Network};
//!
//! let network = Network::from_rows(&[
//!     (&[&[1.0, 0.5], &[-1.0, 2.0]], &[0.1, 0.2]),
//!     (&[&[1.0, 1.0]], &[0.0]),
//! ])?;
//! let domain = Domain::from_bounds(&[(-1.0, 1.0), (-1.0, 1.0)]).expect("bounds in order");
//! let plan = Plan::new(CellsQuestion::new(domain), &[&network], 4, &Deadline::NEVER)?;
//! let mut results = Results::new(&plan);
//! while let Merged::Missing(tasks) = results.merge(&Deadline::NEVER)? {
//!     for task in tasks {
//!         results.add(&plan.work(&task.bytes, &Deadline::NEVER)?)?;
//!     }
//! }
//! let Merged::Answer(answer) = results.merge(&Deadline::NEVER)? else { unreachable!() };
//! let Answer::Cells(counts, _) = *answer else { unreachable!() };
//! assert_eq!(counts.all, [9, 12, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A task is given a time slice, a [`Deadline`](crate::Deadline). When it is over, the result is what was finished, and what is left are new
//! tasks: a merge names them. So skewed work balances itself, and a worker that is killed loses a slice at most.

mod answer;
mod engine;
mod envelope;
mod error;
mod kinds;
mod networks;
mod plan;
mod question;

pub use answer::Answer;
pub use engine::{Added, Merged, Task};
pub use error::TaskError;
pub use kinds::{CellsQuestion, DifferenceQuestion, EquivalenceQuestion, VolumeQuestion};
#[cfg(feature = "dense")]
pub use kinds::{DimensionQuestion, ExtractionQuestion, SurveyQuestion, TrainingGroup, TrainingQuestion};
pub use plan::{Plan, Results};
