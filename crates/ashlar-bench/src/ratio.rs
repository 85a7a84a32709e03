//! Figures of several rounds in one. A machine that others use, too, gives no two rounds that are the same; but what
//! is measured in turn, round by round, has the same weather, so that its ratio holds.

use serde::Serialize;

/// How a subject stands to its control, over all rounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// Half of the rounds are lower.
    pub median: f64,
    /// The lowest round.
    pub lowest: f64,
    /// The highest round.
    pub highest: f64,
}

impl Ratio {
    /// Of `subject` to `control`, each with one figure per round. `None` without a round in which the control has
    /// one above zero.
    pub fn of_rounds(subject: &[f64], control: &[f64]) -> Option<Self> {
        let rounds = subject.iter().zip(control).filter(|(_, control)| **control > 0.0);
        let mut ratios: Vec<f64> = rounds.map(|(subject, control)| subject / control).collect();
        ratios.sort_by(f64::total_cmp);
        let (lowest, highest) = (*ratios.first()?, *ratios.last()?);
        Some(Ratio { median: median(&ratios), lowest, highest })
    }
}

/// The middle of `figures`; the mean of the two in the middle if there are as many above as below; 0 of none.
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
