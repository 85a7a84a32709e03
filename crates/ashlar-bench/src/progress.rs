//! What is being measured, on the terminal while it is.

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one section.
pub struct Progress(ProgressBar);

impl Progress {
    /// Of `section`, which has so many steps.
    pub fn new(section: &str, steps: usize) -> Self {
        let style = ProgressStyle::with_template("{prefix:12} {bar:30} {pos}/{len}  {msg}");
        let style = style.expect("the template is valid");
        let bar =
            ProgressBar::new(steps as u64 + 1).with_style(style).with_prefix(section.to_owned());
        Progress(bar)
    }

    /// The next step begins.
    pub fn begin(&self, step: &str) {
        self.0.inc(1);
        self.0.set_message(step.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
