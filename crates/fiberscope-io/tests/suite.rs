//! All tests of the files in one program: linked once, and both cores have work until the last test ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod domain;
mod graphs;
mod json;
mod nnet;
mod npz;
mod onnx;
mod onnx_errors;
mod onnx_round_trip;
mod pt;
mod safetensors;
mod tensor_support;
