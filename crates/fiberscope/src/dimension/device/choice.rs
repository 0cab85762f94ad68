//! Devices by name.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Which device eliminations run on.
///
/// ```
/// use fiberscope::dimension::DeviceChoice;
///
/// assert_eq!("cuda:1".parse(), Ok(DeviceChoice::Cuda(Some(1))));
/// assert_eq!(DeviceChoice::Auto.to_string(), "auto");
/// assert!("gpu".parse::<DeviceChoice>().unwrap_err().contains("expected cpu, cuda"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The processor.
    #[default]
    Cpu,
    /// A GPU if there is one that can be used, else the processor.
    Auto,
    /// A GPU: that of this number, or that with the most memory.
    Cuda(Option<usize>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text {
            "cpu" => Ok(DeviceChoice::Cpu),
            "auto" => Ok(DeviceChoice::Auto),
            "cuda" => Ok(DeviceChoice::Cuda(None)),
            _ => match text.strip_prefix("cuda:").and_then(number) {
                Some(number) => Ok(DeviceChoice::Cuda(Some(number))),
                None => Err(format!(
                    "device {text:?}: expected cpu, cuda, cuda:N (the GPU of number N, from 0) or auto"
                )),
            },
        }
    }
}

impl Display for DeviceChoice {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cuda(None) => f.write_str("cuda"),
            DeviceChoice::Cuda(Some(number)) => write!(f, "cuda:{number}"),
        }
    }
}
