//! Readers and writers: ONNX, safetensors, npz/npy, NNet, PyTorch state dicts, JSON; CSV data; boxes.
//!
//! Every format is a module with `read(bytes, options)` (and `write` where Fiberscope writes it).
//! Readers treat their input as hostile: they never panic, never run code from the file, and never
//! allocate more than a small multiple of its size.

mod archive;
mod element;
mod ending;
mod error;
mod json_text;
mod memory;
mod model;
mod names;
mod open;
mod text;
mod work;
mod write;

pub mod boundaries;
pub mod checkpoint;
pub mod csv;
pub mod domain;
pub mod json;
pub mod nnet;
pub mod npz;
pub mod onnx;
pub mod pt;
#[cfg(feature = "queries")]
pub mod queries;
pub mod safetensors;
mod state_dict;
pub mod table;
pub mod zoo;

pub use error::{FormatError, IoError};
pub use model::{Assumed, Data, Model, Normalization, Precision, ReadOptions, RoundingLoss, round_to_f32};
pub use names::{Names, Part};
pub use open::{Written, check_writable, load, load_bytes, load_data, save, save_named};
pub use work::{Lease, WorkFolder, Worker};
pub use write::{HeldWrites, hold_writes, write_atomically};
