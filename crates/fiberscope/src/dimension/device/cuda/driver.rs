//! The CUDA driver, loaded when it is first asked for, and a GPU with the kernels on it.

#![allow(unsafe_code, reason = "the driver is a C library; each call is that of its documentation")]

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};

use crate::dimension::device::DeviceError;

/// Every function of the driver that is called: where one is missing the driver is too old.
const FUNCTIONS: [&str; 24] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemsetD8_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuGetErrorName",
    "cuGetErrorString",
];

/// The kernels for devices of compute capability 8.x, and for later ones.
const KERNELS_80: &str = include_str!("kernels_80.ptx");
const KERNELS_90: &str = include_str!("kernels_90.ptx");

/// The kernels by name, in the order of [`Kernel`].
const NAMES: [&str; 11] = [
    "product",
    "scale_rows",
    "add_outputs",
    "reduce_all",
    "factor_diagonal",
    "invert_triangle",
    "move_rows",
    "exchange_rows",
    "transpose",
    "find_pivot",
    "eliminate_column",
];

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    Product,
    ScaleRows,
    AddOutputs,
    ReduceAll,
    FactorDiagonal,
    InvertTriangle,
    MoveRows,
    ExchangeRows,
    Transpose,
    FindPivot,
    EliminateColumn,
}

/// A GPU with the kernels on it.
pub(in crate::dimension) struct Cuda {
    /// What the driver calls it, and its number.
    pub name: String,
    /// How many blocks run at a time.
    pub(super) processors: u32,
    device: sys::CUdevice,
    context: sys::CUcontext,
    module: sys::CUmodule,
    kernels: Vec<sys::CUfunction>,
    busy: Mutex<()>,
}

// SAFETY: handles of the driver may be used by any thread, which `Session` makes the context current in first; one thread at a
// time has a session.
unsafe impl Send for Cuda {}
unsafe impl Sync for Cuda {}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Cuda").field(&self.name).finish()
    }
}

impl Cuda {
    /// The GPU of this number; without one that with the most memory of those that can run the kernels.
    pub fn open(number: Option<usize>) -> Result<Self, DeviceError> {
        load_driver()?;
        let count = result::device::get_count().map_err(not_started)?.max(0) as usize;
        let gpus = (0..count).map(Gpu::describe).collect::<Result<Vec<_>, _>>()?;
        let gpu = match number {
            Some(number) => gpus.get(number).ok_or(DeviceError::NoSuchGpu { number, count })?,
            None => {
                let able = gpus.iter().filter(|gpu| gpu.is_able());
                // The first of equals.
                let best = able.rev().max_by_key(|gpu| gpu.memory);
                best.or(gpus.first()).ok_or(DeviceError::NoGpu)?
            }
        };
        if !gpu.is_able() {
            return Err(DeviceError::OldGpu { name: gpu.name.clone(), capability: gpu.capability });
        }
        gpu.start()
    }

    /// Waits until nobody else works on the device and makes it current in this thread.
    pub fn session(&self) -> Result<Session<'_>, DeviceError> {
        let guard = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let before = result::ctx::get_current().map_err(|error| self.failed("at the start", error))?;
        // SAFETY: the context is retained until `self` is dropped.
        unsafe { result::ctx::set_current(self.context) }
            .map_err(|error| self.failed("at the start", error))?;
        Ok(Session { before, _guard: guard })
    }

    pub(super) fn kernel(&self, kernel: Kernel) -> sys::CUfunction {
        self.kernels[kernel as usize]
    }

    /// An error of the driver in the middle of the work, as a sentence.
    pub(super) fn failed(&self, when: &'static str, error: DriverError) -> DeviceError {
        DeviceError::Failed { name: self.name.clone(), when, reason: reason(error) }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let Ok(session) = self.session() {
            // SAFETY: the module was loaded into this context, which is current; nobody has a function of it any more.
            let _ = unsafe { result::module::unload(self.module) };
            drop(session);
        }
        // SAFETY: the context was retained once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// The device is current in this thread until this is dropped; then what was current before.
pub(in crate::dimension) struct Session<'d> {
    before: Option<sys::CUcontext>,
    _guard: MutexGuard<'d, ()>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: the context was current before, or there was none.
        let _ = unsafe { result::ctx::set_current(self.before.unwrap_or(std::ptr::null_mut())) };
    }
}

/// What is known of a GPU before it is started.
struct Gpu {
    number: usize,
    device: sys::CUdevice,
    name: String,
    capability: (i32, i32),
    memory: usize,
    processors: i32,
}

impl Gpu {
    fn describe(number: usize) -> Result<Self, DeviceError> {
        let device = result::device::get(number as c_int).map_err(not_started)?;
        // SAFETY: the device comes from the driver.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map_err(not_started);
        let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let processors = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // SAFETY: as above.
        let memory = unsafe { result::device::total_mem(device) }.map_err(not_started)?;
        let name = result::device::get_name(device).map_err(not_started)?;
        Ok(Gpu { number, device, name, capability: (major, minor), memory, processors })
    }

    fn is_able(&self) -> bool {
        self.capability.0 >= 8
    }

    /// Loads the kernels, which the driver compiles for the GPU the first time.
    fn start(&self) -> Result<Cuda, DeviceError> {
        let text = if self.capability.0 >= 9 { KERNELS_90 } else { KERNELS_80 };
        let text = CString::new(text).map_err(|_| DeviceError::Nonsense)?;
        // SAFETY: the device comes from the driver.
        let context = unsafe { result::primary_ctx::retain(self.device) }.map_err(not_started)?;
        let name = format!("{} (cuda:{})", self.name, self.number);
        let processors = self.processors.max(1) as u32;
        let mut cuda = Cuda {
            name,
            processors,
            device: self.device,
            context,
            module: std::ptr::null_mut(),
            kernels: Vec::new(),
            busy: Mutex::new(()),
        };
        let session = cuda.session()?;
        // SAFETY: the text ends with a zero, the context is current, names are those of functions of the module.
        let loaded = unsafe { load_kernels(text.as_ptr().cast()) };
        drop(session);
        match loaded {
            Ok((module, kernels)) => {
                cuda.module = module;
                cuda.kernels = kernels;
                Ok(cuda)
            }
            Err(DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION)) => {
                Err(DeviceError::OldDriver { version: version(), needed: self.needed() })
            }
            Err(error) => Err(cuda.failed("while the kernels were loaded", error)),
        }
    }

    /// The version of CUDA that the kernels need.
    fn needed(&self) -> &'static str {
        if self.capability.0 >= 9 { "11.8" } else { "11.0" }
    }
}

/// # Safety
/// The text ends with a zero, and a context is current.
unsafe fn load_kernels(text: *const c_void) -> Result<(sys::CUmodule, Vec<sys::CUfunction>), DriverError> {
    let module = unsafe { result::module::load_data(text) }?;
    let function = |name: &str| {
        let name = CString::new(name).map_err(|_| DriverError(CUresult::CUDA_ERROR_NOT_FOUND))?;
        unsafe { result::module::get_function(module, name) }
    };
    let kernels = NAMES.into_iter().map(function).collect::<Result<Vec<_>, _>>()?;
    Ok((module, kernels))
}

/// Loads the library of the driver, and starts it.
fn load_driver() -> Result<(), DeviceError> {
    if cfg!(target_env = "musl") {
        return Err(DeviceError::Static);
    }
    // SAFETY: loading the driver's library runs its constructors, as every program that uses CUDA does.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    for name in FUNCTIONS {
        // SAFETY: the library was found just now; the symbol is looked for and not called.
        let found = unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) };
        if found.is_err() {
            return Err(DeviceError::MissingFunction { name });
        }
    }
    result::init().map_err(not_started)
}

/// The version of CUDA that the driver knows, as in `12.4`.
fn version() -> String {
    let mut version = 0;
    // SAFETY: the place of the number is given.
    match unsafe { sys::cuDriverGetVersion(&raw mut version) }.result() {
        Ok(()) => format!("{}.{}", version / 1000, version % 1000 / 10),
        Err(_) => "of unknown version".to_owned(),
    }
}

/// An error before there is a device.
fn not_started(error: DriverError) -> DeviceError {
    match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => DeviceError::NoGpu,
        _ => DeviceError::NotStarted { reason: reason(error) },
    }
}

/// What the driver says of an error.
fn reason(error: DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, DriverError>| {
        found.map_or_else(|_| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_name()), text(error.error_string()))
}
