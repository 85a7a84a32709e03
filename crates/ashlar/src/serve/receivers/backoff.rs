//! When what was not taken is sent again. Pure.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);
/// An event that nobody takes for so long is given up: those after it wait for it.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The pause before the next attempt after so many that have failed, of which the first was so long
/// ago; none: there is no next one. It doubles, and is shortened by up to a half by `random`, so
/// that many that have failed at once do not come back at once.
pub fn pause(failed: u32, since_first: Duration, random: u64) -> Option<Duration> {
    if since_first >= GIVE_UP_AFTER {
        return None;
    }
    let doublings = failed.saturating_sub(1).min(16);
    let longest = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let part = random as f64 / u64::MAX as f64;
    Some(longest.mul_f64(1.0 - part / 2.0))
}

#[cfg(test)]
mod tests;
