//! The clock of time limits.
//!
//! This is [`std::time::Instant`], but for WebAssembly in a browser, where the standard library has no clock:
//! there the host hands one over with `set_clock`, and before it does time stands still, so that no limit is
//! ever reached.

#[cfg(not(target_arch = "wasm32"))]
pub use std::time::Instant;

#[cfg(target_arch = "wasm32")]
pub use host::{Instant, set_clock};

#[cfg(target_arch = "wasm32")]
mod host {
    use std::sync::OnceLock;
    use std::time::Duration;

    static CLOCK: OnceLock<fn() -> f64> = OnceLock::new();

    /// Names the clock: a function that gives milliseconds since any fixed moment. The first one stays.
    pub fn set_clock(milliseconds: fn() -> f64) {
        let _ = CLOCK.set(milliseconds);
    }

    /// A moment of the host's clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        /// This moment.
        pub fn now() -> Self {
            let milliseconds = CLOCK.get().map_or(0.0, |clock| clock());
            Instant(Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default())
        }

        /// The moment a duration later, if there is one.
        pub fn checked_add(self, duration: Duration) -> Option<Self> {
            self.0.checked_add(duration).map(Instant)
        }

        /// The time since an earlier moment; zero if it is later.
        pub fn saturating_duration_since(self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }

        /// The time since this moment.
        pub fn elapsed(self) -> Duration {
            Instant::now().saturating_duration_since(self)
        }
    }
}
