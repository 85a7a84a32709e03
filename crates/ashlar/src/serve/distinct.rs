//! One drive under two names, and drives that lie on each other, are refused before anything is
//! written.
//!
//! Whether two names lead to one drive is asked of the kernel: links, loop devices, partitions, and
//! what devices are stacked on. Nothing of the drives is read.

use std::path::PathBuf;
use std::time::Duration;

use ashlar_control::{ApiError, ErrorCode};
use ashlar_drive::{Footprint, Machine, Overlap};
use ashlar_volume::HeldDrive;

use super::apart::apart;
use super::errors::api_error;
use super::finder::path_of;

/// How long a drive may take to say what it is made of: a file system that hangs keeps nobody else
/// waiting.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A drive that somebody names, or that is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    spec: String,
    user: Option<User>,
}

/// Whose a drive is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum User {
    /// A pool has it.
    Pool(HeldDrive),
    /// It waits until the pool of that name loses one.
    Spare(String),
}

impl Named {
    /// A drive that is to be taken.
    pub fn wanted(spec: &str) -> Self {
        Named { spec: spec.to_owned(), user: None }
    }

    /// A drive that a pool has.
    pub fn held(held: &HeldDrive) -> Self {
        Named { spec: held.spec.clone(), user: Some(User::Pool(held.clone())) }
    }

    /// A drive that waits until a pool loses one.
    pub fn spare(spec: &str, pool: &str) -> Self {
        Named { spec: spec.to_owned(), user: Some(User::Spare(pool.to_owned())) }
    }

    fn plain(&self) -> &str {
        ashlar_volume::path_of(&self.spec)
    }
}

/// Refuses drives that are to be taken and are in each other's way, or in that of one that is in
/// use.
pub async fn check_distinct(drives: Vec<Named>) -> Result<(), ApiError> {
    ask_drives(move || first_overlap(&drives)).await?.map_or(Ok(()), Err)
}

/// What a look at drives finds, by a thread of its own, which is left behind if a drive hangs.
///
/// # Errors
/// When the look does not end in time, or cannot begin.
pub async fn ask_drives<T: Send + 'static>(
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let no_answer = |why: &str| ApiError::new(ErrorCode::DriveHangs, why);
    let found = apart("ask-drives", look).map_err(|_| {
        no_answer("no thread can be started to look at the drives: the process is at a limit")
    })?;
    let waited = tokio::time::timeout(ANSWER_MAX, found).await;
    let found = waited.ok().and_then(Result::ok);
    found.ok_or_else(|| {
        no_answer("one of the drives hangs: Ashlar cannot find out which device it lies on")
    })
}

fn first_overlap(drives: &[Named]) -> Option<ApiError> {
    let machine = Machine::default();
    let footprint =
        |named: &Named| Some((named.clone(), machine.footprint(&path_of(&named.spec)?)?));
    let all: Vec<(Named, Footprint)> = drives.iter().filter_map(footprint).collect();
    let overlap = all.iter().enumerate().find_map(|(at, (one, its))| {
        all[at + 1..].iter().find_map(|(other, theirs)| refusal(one, other, its.overlap(theirs)?))
    });
    overlap.or_else(|| first_of_one_path(drives))
}

/// The kernel knows nothing of files that are still to be made: they are told by their directories.
fn first_of_one_path(drives: &[Named]) -> Option<ApiError> {
    let place = |named: &Named| {
        let path = path_of(&named.spec).filter(|path| !path.exists())?;
        Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
    };
    let wanted = drives.iter().filter(|named| named.user.is_none());
    let all: Vec<(&Named, PathBuf)> =
        wanted.filter_map(|named| Some((named, place(named)?))).collect();
    all.iter().enumerate().find_map(|(at, (one, its))| {
        let other = all[at + 1..].iter().find(|(_, place)| place == its);
        other.and_then(|(other, _)| refusal(one, other, Overlap::Same))
    })
}

/// What is said of two drives that are in each other's way; nothing if neither is to be taken.
fn refusal(one: &Named, other: &Named, overlap: Overlap) -> Option<ApiError> {
    let (wanted, user) = match (&one.user, &other.user) {
        (Some(_), Some(_)) => return None,
        (Some(user), None) => (other, Some((one, user))),
        (None, Some(user)) => (one, Some((other, user))),
        (None, None) => (one, None),
    };
    let (on, below) = if overlap == Overlap::Below { (other, one) } else { (one, other) };
    let lies = format!("{} lies on {}", on.plain(), below.plain());
    let Some((used, user)) = user else {
        let message = match overlap {
            Overlap::Same => {
                format!("{} and {} are the same drive: name it once", one.plain(), other.plain())
            }
            Overlap::On | Overlap::Below => {
                format!("{lies}, and is written to with it: name one of them")
            }
        };
        return Some(ApiError::new(ErrorCode::SameDrive, message));
    };
    let named = match overlap {
        _ if wanted.plain() == used.plain() => wanted.plain().to_owned(),
        Overlap::Same => format!("{} (the same drive as {})", wanted.plain(), used.plain()),
        Overlap::On | Overlap::Below => format!("{} ({lies})", wanted.plain()),
    };
    Some(match user {
        User::Pool(held) => api_error(held.refuses(&named)),
        User::Spare(pool) => {
            let hint = format!("`ashlar pool spare remove {pool} {}` frees it", used.plain());
            let message = format!("{named} is a spare of pool '{pool}'");
            ApiError::new(ErrorCode::IsSpare, message).with_hint(hint)
        }
    })
}

#[cfg(test)]
mod tests;
