//! What the drives of open pools say of their health.
//!
//! Each is asked now and then by a thread of its own: one that hangs delays no other, and is not
//! asked again until it has answered. Nobody waits for an answer: what is known by now is there to
//! be looked at.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ashlar_drive::{DriveHealth, Look, Smart, Thresholds, Warning, warnings};
use tokio::sync::{Notify, oneshot};

use super::apart::apart;

/// For how long a media error counts as a recent one.
const RECENT: Duration = Duration::from_secs(86_400);
/// Without an answer for so long, a drive is said to give none.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// How drives are asked, and from where on there is a warning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HealthConfig {
    /// Between two questions to a drive.
    pub interval: Duration,
    /// For warnings.
    pub thresholds: Thresholds,
}

/// A drive that can be asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Asked {
    /// Its identity as a member.
    pub uuid: String,
    /// What the kernel calls it.
    pub kernel_name: String,
}

/// What has come of a question: an answer, or why there is none.
pub type Answer = Result<Look, String>;

/// What is known of the drives.
pub struct Healths {
    config: HealthConfig,
    known: Mutex<Known>,
    /// There is a drive that nobody has asked.
    is_wanted: Notify,
}

#[derive(Default)]
struct Known {
    drives: BTreeMap<Asked, Course>,
    next_round: Option<Instant>,
}

/// What has come of the questions to one drive.
#[derive(Clone, Default, Debug)]
struct Course {
    /// Since when an answer is waited for.
    asked_at: Option<Instant>,
    answered_at: Option<Instant>,
    said: Said,
    /// How many media errors have come lately, and when.
    media_errors: VecDeque<(Instant, u64)>,
}

/// What a drive has said.
#[derive(Clone, Default, Debug)]
pub struct Said {
    /// Its figures; those of the last time, where it gives none now.
    pub health: DriveHealth,
    /// What is wrong with it.
    pub warnings: Vec<Warning>,
    /// It sleeps, and was not asked.
    pub is_asleep: bool,
    /// Why it says nothing, or nothing more.
    pub absent: Option<String>,
    /// How long ago it has answered.
    pub age: Option<Duration>,
}

impl Said {
    /// Of a drive that says nothing, and why.
    pub fn nothing(why: impl ToString) -> Self {
        Said { absent: Some(why.to_string()), ..Said::default() }
    }
}

impl Healths {
    /// Nothing is known yet.
    pub fn new(config: HealthConfig) -> Self {
        Healths { config, known: Mutex::default(), is_wanted: Notify::new() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no holder of the lock panics")
    }

    /// What a drive has said that is no member, and is asked only once.
    pub fn judge(&self, answer: Answer) -> Said {
        let (mut course, now) = (Course::default(), Instant::now());
        course.take(answer, now, self.config.thresholds);
        course.said(now)
    }

    /// What is known of a drive. One that nobody has asked is asked soon.
    pub fn of(&self, drive: &Asked) -> Said {
        let known = self.known();
        let Some(course) = known.drives.get(drive) else {
            self.is_wanted.notify_one();
            return Said::nothing(NOT_YET);
        };
        course.said(Instant::now())
    }

    /// Of these drives, which are all there are, those to be asked now. What was known of others is
    /// forgotten.
    pub fn to_ask(&self, drives: Vec<Asked>, now: Instant) -> Vec<Asked> {
        let mut known = self.known();
        let is_round = known.next_round.is_none_or(|at| now >= at);
        if is_round {
            known.next_round = Some(now + self.config.interval);
        }
        let mut before = std::mem::take(&mut known.drives);
        let mut wanted = Vec::new();
        for drive in drives {
            let course = before.remove(&drive);
            let is_new = course.is_none();
            let mut course = course.unwrap_or_default();
            if (is_new || is_round) && course.asked_at.is_none() {
                course.asked_at = Some(now);
                wanted.push(drive.clone());
            }
            known.drives.insert(drive, course);
        }
        wanted
    }

    /// Takes what has come of a question.
    pub fn take(&self, drive: &Asked, answer: Answer, now: Instant) {
        if let Some(course) = self.known().drives.get_mut(drive) {
            course.take(answer, now, self.config.thresholds);
        }
    }

    /// Returns when it is time for the next questions.
    pub async fn next(&self) {
        let next_round = self.known().next_round.unwrap_or_else(Instant::now);
        tokio::select! {
            () = tokio::time::sleep_until(next_round.into()) => {}
            () = self.is_wanted.notified() => {}
        }
    }
}

const NOT_YET: &str = "it has not answered yet";
const ASLEEP: &str = "it sleeps, and is not woken";

impl Course {
    fn said(&self, now: Instant) -> Said {
        let since = |at: Option<Instant>| at.map(|at| now.duration_since(at));
        let silent = since(self.asked_at).filter(|waited| *waited >= ANSWER_MAX);
        let hangs = silent.map(|waited| format!("it has not answered for {} s", waited.as_secs()));
        let not_yet = || (self.answered_at.is_none()).then(|| NOT_YET.to_owned());
        let absent = hangs.or_else(|| self.said.absent.clone()).or_else(not_yet);
        Said { absent, age: since(self.answered_at), ..self.said.clone() }
    }

    fn take(&mut self, answer: Answer, now: Instant, thresholds: Thresholds) {
        self.asked_at = None;
        match answer {
            Ok(Look::Awake(health)) => {
                self.take_health(*health, now, thresholds);
                self.answered_at = Some(now);
            }
            Ok(Look::Asleep) => {
                let health = DriveHealth {
                    temperature_celsius: None,
                    power: None,
                    ..std::mem::take(&mut self.said.health)
                };
                self.take_health(health, now, thresholds);
                self.said.is_asleep = true;
                self.said.absent = Some(ASLEEP.to_owned());
            }
            Err(why) => self.said.absent = Some(why),
        }
    }

    fn take_health(&mut self, health: DriveHealth, now: Instant, thresholds: Thresholds) {
        let more = health.media_errors.zip(self.said.health.media_errors);
        let more = more.map_or(0, |(errors, before)| errors.saturating_sub(before));
        self.media_errors.extend((more > 0).then_some((now, more)));
        self.media_errors.retain(|(at, _)| now.duration_since(*at) < RECENT);
        let recent = self.media_errors.iter().map(|(_, errors)| errors).sum();
        let warnings = warnings(&health, &self.said.warnings, recent, thresholds);
        self.said = Said { health, warnings, ..Said::default() };
    }
}

/// Asks the drive that the kernel calls so, by a thread of its own.
///
/// # Errors
/// When no thread can be started.
pub fn ask(kernel_name: String) -> std::io::Result<oneshot::Receiver<Answer>> {
    apart("drive-health", move || look(&kernel_name))
}

fn look(kernel_name: &str) -> Answer {
    let smart = Smart::of(kernel_name).map_err(|silent| silent.to_string())?;
    smart.look().map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "the daemon may not ask it ({error}): it needs root, or CAP_SYS_ADMIN and CAP_SYS_RAWIO"
        ),
        _ => format!("it cannot be asked: {error}"),
    })
}

#[cfg(test)]
mod tests;
