//! When another attempt is not worth its queries.

use super::deeper::ALWAYS_TRACED_INPUTS;
use super::inquiry::Inquiry;
use super::recover::{FRESH_START, Recovery};

/// With few inputs, the share of the kinks on lines by which beginning anew must explain more for another attempt.
const GAIN: f64 = 0.05;

/// With few inputs, attempts after which a share of explained kinks below this is too little to go on.
const ENOUGH_ATTEMPTS: usize = 2;
const LITTLE: f64 = 0.4;

impl Recovery {
    /// Whether what lines show speaks against another attempt: beginning anew explained no more than before (with few
    /// inputs hardly more), or with few inputs, where every boundary that is met is followed, most of them stayed
    /// unexplained. The reason says so.
    pub fn is_hopeless(&mut self, inquiry: &Inquiry<'_>, attempt: usize, before: f64) -> bool {
        if attempt == 0 || self.best.is_some() {
            return false;
        }
        let few = inquiry.inputs <= ALWAYS_TRACED_INPUTS;
        let now = self.explained(inquiry);
        let percent = |share: f64| (100.0 * share).floor();
        if attempt > FRESH_START && now <= before + if few { GAIN } else { 0.0 } {
            self.reason += &format!(
                "; beginning anew explained {:.0} % of the kinks on lines, before it were {:.0} %, so it was given up",
                percent(now),
                percent(before)
            );
            return true;
        }
        if few && attempt >= ENOUGH_ATTEMPTS && now < LITTLE {
            self.reason += &format!(
                "; {attempt} attempts explained {:.0} % of the kinks on lines, so it was given up",
                percent(now)
            );
            return true;
        }
        false
    }
}
