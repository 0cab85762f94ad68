//! Where eliminations modulo a prime run: on the processor, or on a GPU.
//!
//! What a device has to be able to do is the trait of `engine`; NVIDIA's GPUs (`cuda`) are behind it. The eliminations themselves
//! (`dimension::blocked`) are written in terms of it.

mod choice;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(any(test, feature = "cuda"))]
pub(super) mod engine;

use std::sync::Arc;

use thiserror::Error;

pub use choice::DeviceChoice;

/// Where eliminations run. Clones are the same device.
///
/// ```
/// use fiberscope::dimension::{Device, DeviceChoice};
///
/// // A GPU if there is one that can be used; if not, `fallback` says why.
/// let device = Device::open(DeviceChoice::Auto).unwrap();
/// assert!(device.is_gpu() || device.fallback().is_some());
/// assert!(!Device::cpu().is_gpu());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Device(Option<Arc<Opened>>);

#[derive(Debug)]
struct Opened {
    /// Without a GPU, why there is none.
    gpu: Result<Gpu, DeviceError>,
    /// Whether the processor does what the GPU cannot.
    falls_back: bool,
}

#[cfg(feature = "cuda")]
type Gpu = cuda::Cuda;
#[cfg(not(feature = "cuda"))]
type Gpu = std::convert::Infallible;

/// Why eliminations do not run on a GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program was built without CUDA.
    #[error("no GPU can be used: this program was built without the feature cuda")]
    NotBuilt,
    /// The program cannot load libraries.
    #[error(
        "no CUDA driver can be loaded: this program is linked statically, for musl; expected one for glibc, as the Python package has it and as cargo builds it"
    )]
    Static,
    /// The library of the driver is not there.
    #[error(
        "no CUDA driver: libcuda.so.1 (nvcuda.dll on Windows) was not found or cannot be loaded; expected NVIDIA's driver to be installed"
    )]
    NoDriver,
    /// The library of the driver lacks a function.
    #[error("the CUDA driver is too old, or none: its library has no function {name}")]
    MissingFunction {
        /// The function.
        name: &'static str,
    },
    /// The driver is too old for the kernels.
    #[error("the CUDA driver is too old: it knows CUDA {version}; expected {needed} or later")]
    OldDriver {
        /// What the driver knows.
        version: String,
        /// What is needed.
        needed: &'static str,
    },
    /// The driver does not start.
    #[error("the CUDA driver does not start: {reason}")]
    NotStarted {
        /// What the driver says.
        reason: String,
    },
    /// The driver sees no GPU.
    #[error("the CUDA driver sees no GPU (CUDA_VISIBLE_DEVICES may hide them)")]
    NoGpu,
    /// There is no GPU of this number.
    #[error("there is no GPU cuda:{number}: the CUDA driver sees {count}, counted from 0")]
    NoSuchGpu {
        /// The number.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// The GPU cannot run the kernels.
    #[error("the GPU {name} has compute capability {}.{}; expected 8.0 or later", capability.0, capability.1)]
    OldGpu {
        /// Its name.
        name: String,
        /// Its compute capability.
        capability: (i32, i32),
    },
    /// The memory of the GPU does not hold what it must.
    #[error(
        "the GPU {name} has too little memory: {} MB are needed, {} MB are free", needed.div_ceil(1 << 20), free >> 20
    )]
    Memory {
        /// Its name.
        name: String,
        /// Bytes that are needed.
        needed: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// The GPU failed in the middle.
    #[error("the GPU {name} failed {when}: {reason}; nothing that it computed was used")]
    Failed {
        /// Its name.
        name: String,
        /// When that was, as the end of a sentence.
        when: &'static str,
        /// What the driver says.
        reason: String,
    },
    /// The GPU gave numbers that no elimination gives.
    #[error("the GPU gave numbers that no elimination gives; nothing that it computed was used")]
    Nonsense,
}

/// What eliminations ran on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DeviceUse {
    /// The GPU that did at least one elimination; `None`: the processor did all.
    pub gpu: Option<String>,
    /// Seconds that passed while it did.
    pub seconds: f64,
    /// Bytes that an elimination took at most, on the GPU and, where that was full, on the host.
    pub bytes: usize,
    /// Why the processor did what was meant for a GPU.
    pub fallback: Option<DeviceError>,
}

impl Device {
    /// The processor.
    pub fn cpu() -> Self {
        Device(None)
    }

    /// Starts what was chosen. [`DeviceChoice::Auto`] never fails: without a GPU it is the processor.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        let (number, falls_back) = match choice {
            DeviceChoice::Cpu => return Ok(Device::cpu()),
            DeviceChoice::Auto => (None, true),
            DeviceChoice::Cuda(number) => (number, false),
        };
        let gpu = match open_gpu(number) {
            Err(error) if !falls_back => return Err(error),
            gpu => gpu,
        };
        Ok(Device(Some(Arc::new(Opened { gpu, falls_back }))))
    }

    /// Whether eliminations go to a GPU.
    pub fn is_gpu(&self) -> bool {
        self.gpu().is_some()
    }

    /// Why there is no GPU where one would have been taken.
    pub fn fallback(&self) -> Option<&DeviceError> {
        self.0.as_ref().and_then(|opened| opened.gpu.as_ref().err())
    }

    fn gpu(&self) -> Option<&Gpu> {
        self.0.as_ref().and_then(|opened| opened.gpu.as_ref().ok())
    }

    /// Whether the processor does what the GPU cannot.
    pub(super) fn falls_back(&self) -> bool {
        self.0.as_ref().is_none_or(|opened| opened.falls_back)
    }

    /// The GPU's name, if there is one.
    pub fn name(&self) -> Option<String> {
        #[cfg(feature = "cuda")]
        return self.gpu().map(|gpu| gpu.name.clone());
        #[cfg(not(feature = "cuda"))]
        None
    }

    /// Works on the GPU modulo a prime; `None` without one.
    #[cfg(feature = "cuda")]
    pub(super) fn with_engine<T>(
        &self,
        prime: f64,
        work: impl FnOnce(&cuda::CudaEngine) -> Result<T, DeviceError>,
    ) -> Option<Result<T, DeviceError>> {
        let gpu = self.gpu()?;
        Some(cuda::CudaEngine::new(gpu, prime).and_then(|engine| work(&engine)))
    }
}

#[cfg(feature = "cuda")]
fn open_gpu(number: Option<usize>) -> Result<Gpu, DeviceError> {
    cuda::Cuda::open(number)
}

#[cfg(not(feature = "cuda"))]
fn open_gpu(_: Option<usize>) -> Result<Gpu, DeviceError> {
    Err(DeviceError::NotBuilt)
}
