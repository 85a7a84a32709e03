//! Figures of several rounds in one. A machine that others use, too, gives no two rounds that are
//! the same; but what is measured in turn, round by round, has the same weather, so that its ratio
//! holds.

use serde::Serialize;

/// How a subject stands to its control, over all rounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// Half of the rounds are lower.
    pub median: f64,
    /// What the true one is not below, as far as the rounds tell: see [`Self::of_rounds`].
    pub low: f64,
    /// What it is not above.
    pub high: f64,
}

/// How likely `low` may be above the true median, and as likely `high` below it.
const ERROR_MAX: f64 = 0.05;

impl Ratio {
    /// Of `subject` to `control`, each with one figure per round. `None` without a round in which
    /// the control has one above zero.
    ///
    /// `low` and `high` are the rounds between which the median lies by the sign test (B. L. van
    /// der Waerden, Mathematical Statistics, section 64): of few rounds the lowest and the highest,
    /// of many those that a few outliers are beyond.
    pub fn of_rounds(subject: &[f64], control: &[f64]) -> Option<Self> {
        let rounds = subject.iter().zip(control).filter(|(_, control)| **control > 0.0);
        let mut ratios: Vec<f64> = rounds.map(|(subject, control)| subject / control).collect();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let outliers = outliers(ratios.len());
        Some(Ratio {
            median: median(&ratios),
            low: ratios[outliers],
            high: ratios[last - outliers],
        })
    }
}

/// Of so many rounds, how many may lie on the wrong side of the true median by chance: the most for
/// which so many or fewer do with a probability of at most [`ERROR_MAX`]; none if there is no such
/// number.
fn outliers(rounds: usize) -> usize {
    let exactly = (0..rounds).scan(0.5f64.powi(rounds as i32), |probability, wrong| {
        let this = *probability;
        *probability *= (rounds - wrong) as f64 / (wrong + 1) as f64;
        Some(this)
    });
    let at_most = exactly.scan(0.0, |sum, probability| {
        *sum += probability;
        Some(*sum)
    });
    at_most.take_while(|probability| *probability <= ERROR_MAX).count().saturating_sub(1)
}

/// The middle of `figures`; the mean of the two in the middle if there are as many above as below;
/// 0 of none.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests;
