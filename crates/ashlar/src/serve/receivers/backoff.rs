//! When what was not taken is sent again. Pure.

use std::time::Duration;

use super::Failure;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);
/// An event that nobody takes for so long is given up: those after it wait for it.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Attempts after which one is given up that the receiver refuses for what it is. They take some
/// minutes: what answers so for a while, as a proxy does whose server is not there, loses nothing.
const REFUSALS_MAX: u32 = 10;
/// Longest pause that a receiver may ask for.
const ASKED_LONGEST: Duration = Duration::from_secs(3600);

/// The pause before the next attempt after so many that have failed, of which the first was so long
/// ago; none: there is no next one. It doubles, and is shortened by up to a half by `random`, so
/// that many that have failed at once do not come back at once.
pub(super) fn pause(
    failure: &Failure,
    failed: u32,
    since_first: Duration,
    random: u64,
) -> Option<Duration> {
    let is_over = match failure {
        Failure::Later(_) | Failure::Busy(..) => since_first >= GIVE_UP_AFTER,
        Failure::Refused(_) => failed >= REFUSALS_MAX || since_first >= GIVE_UP_AFTER,
        Failure::Never(_) => true,
    };
    let asked = match failure {
        Failure::Busy(_, asked) => (*asked).min(ASKED_LONGEST),
        _ => Duration::ZERO,
    };
    let doublings = failed.saturating_sub(1).min(16);
    let longest = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let part = random as f64 / u64::MAX as f64;
    (!is_over).then(|| longest.mul_f64(1.0 - part / 2.0).max(asked))
}

#[cfg(test)]
mod tests;
