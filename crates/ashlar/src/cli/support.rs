//! `ashlar support`: all that helps to find out what is wrong, in one file, without secrets.
//!
//! What cannot be had, because the daemon does not answer or a program is not there, is no
//! obstacle: the bundle and the answer say what is missing and why. What the daemon says comes by
//! its API; what the machine says is only taken where the daemon is on this machine.

mod bundle;
mod file;
mod machine;
mod redact;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ashlar_block::counted;
use humantime::format_rfc3339_seconds;
use serde::Serialize;

use super::client::Client;
use crate::args::{Output, SupportArguments};
use crate::stdio::print_line;
use bundle::{Bundle, Missing};
use file::NewFile;

/// What is asked of a daemon that answers: the name of the part, and the path.
const ASKED: &[(&str, &str)] = &[
    ("api/status.json", "/status"),
    ("api/drives.json", "/drives"),
    ("api/hosts.json", "/hosts"),
    ("api/jobs.json", "/jobs"),
    ("api/erases.json", "/erases"),
    ("api/qos.json", "/qos"),
    ("api/iostat.json", "/iostat?drives=true"),
    ("api/receivers.json", "/receivers"),
    ("api/session.json", "/session"),
    ("api/events.json", "/events?limit=10000"),
    ("api/audit.json", "/audit?limit=10000"),
    ("api/metrics.txt", "/metrics"),
];

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Made {
    file: PathBuf,
    file_bytes: u64,
    parts: usize,
    missing: Vec<Missing>,
}

/// Makes the bundle, and says where it is.
///
/// # Errors
/// When the file is there already, or cannot be written: then there is none.
pub async fn run(
    client: anyhow::Result<Client>,
    is_here: bool,
    asked: SupportArguments,
    output: Output,
) -> anyhow::Result<()> {
    let now = SystemTime::now();
    let name = name_at(now);
    let file = asked.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    let made = make(&file, client, is_here, &asked, Bundle::new(&name, now)).await?;
    Ok(print_line(output.text(&made, as_text)?)?)
}

/// The bundle is made in memory, so that a file that is there is whole.
async fn make(
    file: &Path,
    client: anyhow::Result<Client>,
    is_here: bool,
    asked: &SupportArguments,
    mut bundle: Bundle,
) -> anyhow::Result<Made> {
    // Whoever cannot have the file is told so before anything is gathered.
    let open = NewFile::begin(file)?;
    add_of_daemon(&mut bundle, client).await?;
    if is_here {
        machine::add(&mut bundle, &asked.state, &asked.config).await?;
    }
    let (bytes, parts, missing) = bundle.finish()?;
    open.end(&bytes)?;
    Ok(Made { file: file.to_owned(), file_bytes: bytes.len() as u64, parts, missing })
}

async fn add_of_daemon(bundle: &mut Bundle, client: anyhow::Result<Client>) -> anyhow::Result<()> {
    let client = match client {
        Ok(client) => client,
        Err(error) => return bundle.add("api", "the daemon", Err(&format!("{error:#}"))),
    };
    match client.body("/version").await {
        Ok(body) => bundle.add("api/version.json", "GET /version", Ok(&body))?,
        Err(error) => return bundle.add("api", "the daemon", Err(&format!("{error:#}"))),
    }
    for (name, path) in ASKED {
        let from = format!("GET {path}");
        match client.body(path).await {
            Ok(body) if *name == "api/receivers.json" => {
                let plain = redact::receivers(&body);
                bundle.add(name, &from, plain.as_deref().map_err(String::as_str))?;
            }
            Ok(body) => bundle.add(name, &from, Ok(&body))?,
            Err(error) => bundle.add(name, &from, Err(&format!("{error:#}")))?,
        }
    }
    Ok(())
}

fn name_at(now: SystemTime) -> String {
    let host = rustix::system::uname();
    let host: String = host.nodename().to_string_lossy().chars().filter(is_plain).collect();
    let time: String = format_rfc3339_seconds(now).to_string().chars().filter(is_plain).collect();
    format!("ashlar-support-{host}-{time}")
}

/// What may stand in the name of a file.
fn is_plain(character: &char) -> bool {
    character.is_ascii_alphanumeric() || *character == '-'
}

fn as_text(made: &Made) -> String {
    let (file, size) = (made.file.display(), ashlar_block::ByteSize(made.file_bytes));
    let parts = counted(made.parts, "part");
    let mut lines = vec![format!("{file} has {parts}, {size}, and no secrets")];
    lines.extend(made.missing.iter().map(|it| format!("missing: {}: {}", it.part, it.why)));
    lines.join("\n")
}
