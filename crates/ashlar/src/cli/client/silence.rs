//! What is said of a daemon that does not answer: who it is, what keeps it from that, and the way
//! out.

use std::fmt::Display;
use std::fs;
use std::time::Duration;

use humantime::format_duration;
use tokio::net::UnixStream;

use super::Refused;

/// The code of the error, for programs.
const CODE: &str = "no_answer";
/// The daemon's name as the kernel has it.
const DAEMON: &str = "ashlar";

/// A process that listens at a daemon's socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listener {
    pid: i32,
}

/// What it is doing now.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Process {
    pid: i32,
    /// Its program's name, where it is known.
    name: Option<String>,
    is_stopped: bool,
}

impl Listener {
    /// Who listens at the other end of `stream`; nobody if it is in another PID namespace.
    pub fn of(stream: &UnixStream) -> Option<Self> {
        let pid = stream.peer_cred().ok()?.pid().filter(|pid| *pid > 0)?;
        Some(Listener { pid })
    }

    fn process(self) -> Process {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        Process::from_stat(self.pid, &stat)
    }
}

impl Process {
    /// From proc_pid_stat(5): `PID (NAME) STATE ...`. A name may have brackets of its own.
    fn from_stat(pid: i32, stat: &str) -> Self {
        let parts = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") "));
        let (name, state) =
            parts.map_or((None, ""), |(name, state)| (Some(name.to_owned()), state));
        Process { pid, name, is_stopped: state.starts_with(['T', 't']) }
    }

    fn is_daemon(&self) -> bool {
        self.name.as_ref().is_none_or(|name| name == DAEMON)
    }
}

/// What the daemon was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// To say something.
    Question,
    /// To do something, which may take its time.
    Change,
}

/// The error when whoever listens at `place` has not answered for so long.
pub fn no_answer(
    place: &dyn Display,
    listener: Option<Listener>,
    waited: Duration,
    asked: Asked,
) -> Refused {
    refusal(place, listener.map(Listener::process).as_ref(), waited, asked)
}

fn refusal(
    place: &dyn Display,
    process: Option<&Process>,
    waited: Duration,
    asked: Asked,
) -> Refused {
    let who = match process {
        Some(Process { pid, name: Some(name), .. }) => format!(", process {pid} ({name}),"),
        Some(Process { pid, name: None, .. }) => format!(", process {pid},"),
        None => String::new(),
    };
    let waited = format_duration(waited);
    let detail = format!("the daemon at {place}{who} has not answered for {waited}");
    Refused { code: CODE.to_owned(), detail, hint: Some(way_out(process, asked)) }
}

fn way_out(process: Option<&Process>, asked: Asked) -> String {
    let still = match asked {
        Asked::Question => "",
        Asked::Change => {
            "it may be doing what it was asked for, or do it later: look before you ask again. "
        }
    };
    let then = match process {
        Some(Process { pid, is_stopped: true, .. }) => {
            format!("it is stopped: kill -CONT {pid} lets it go on")
        }
        Some(other) if !other.is_daemon() => {
            "that may be no Ashlar daemon: name the daemon's socket with --socket".to_owned()
        }
        Some(Process { pid, .. }) => format!(
            "--timeout waits longer, and its log may say what it does. If it hangs: kill {pid}, or kill -KILL {pid}, and \
             start it anew; nothing that it has acknowledged is lost"
        ),
        None => "--timeout waits longer, and its log may say what it does".to_owned(),
    };
    format!("{still}{then}")
}

#[cfg(test)]
mod tests;
