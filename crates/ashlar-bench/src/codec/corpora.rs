//! What is compressed: the machine's own files, and databases that are made for it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use ashlar_block::{BLOCK_BYTES, XorShift};
use bytes::Bytes;

/// Bytes of a corpus, at most.
const CORPUS_BYTES_MAX: usize = 16 << 20;

/// Rows of the tables that are made.
const ROWS: usize = 120_000;

/// Where PostgreSQL's own programs are, besides the path.
const POSTGRES_PLACES: &str = "/usr/lib/postgresql";

/// Some data.
pub struct Corpus {
    pub name: &'static str,
    /// Whole blocks.
    pub bytes: Bytes,
}

/// All that can be had here, and why the others cannot.
pub fn all() -> (Vec<Corpus>, Vec<String>) {
    let made = [
        ("headers", files_of("/usr/include")),
        ("binaries", files_of("/usr/bin")),
        ("sqlite", sqlite()),
        ("postgresql", postgresql()),
        ("json logs", Ok(json_logs())),
    ];
    let (mut corpora, mut missing) = (Vec::new(), Vec::new());
    for (name, bytes) in made {
        match bytes {
            Ok(bytes) => corpora.push(Corpus { name, bytes: bytes.into() }),
            Err(error) => missing.push(format!("{name}: {error:#}")),
        }
    }
    (corpora, missing)
}

/// What files in a folder hold, each from a block's beginning on, in the order of their names: of
/// as many as fit, evenly spread.
fn files_of(folder: &str) -> anyhow::Result<Vec<u8>> {
    let mut files = Vec::new();
    list(Path::new(folder), &mut files).with_context(|| format!("{folder} cannot be listed"))?;
    files.sort();
    let all: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    ensure!(all > 0, "{folder} has no files");
    let one_in = all.div_ceil(CORPUS_BYTES_MAX as u64).max(1) as usize;
    let mut bytes = Vec::new();
    for (file, _) in files.iter().step_by(one_in) {
        // One that may not be read is left out.
        let Ok(mut file) = File::open(file) else { continue };
        file.read_to_end(&mut bytes)?;
        fill_block(&mut bytes);
        if bytes.len() >= CORPUS_BYTES_MAX {
            break;
        }
    }
    bytes.truncate(CORPUS_BYTES_MAX);
    Ok(bytes)
}

fn list(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            list(&entry.path(), files)?;
        } else if about.is_file() && about.len() > 0 {
            files.push((entry.path(), about.len()));
        }
    }
    Ok(())
}

fn fill_block(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
}

fn json_logs() -> Vec<u8> {
    let mut rng = XorShift::new(3);
    let paths = ["/", "/api/v1/status", "/api/v1/volumes", "/login", "/static/app.js", "/metrics"];
    let mut bytes = Vec::new();
    let mut at_ms = 1_790_000_000_000_u64;
    while bytes.len() < CORPUS_BYTES_MAX {
        at_ms += rng.below(50);
        let (level, path) =
            (["info", "info", "info", "warn"][rng.below(4) as usize], paths[rng.below(6) as usize]);
        let (took_us, bytes_sent, request) = (rng.below(90_000), rng.below(60_000), rng.next_u64());
        let line = format!(
            "{{\"time\":{at_ms},\"level\":\"{level}\",\"request\":\"{request:016x}\",\"path\":\"{path}\",\
             \"status\":200,\"took_us\":{took_us},\"bytes\":{bytes_sent},\"host\":\"web-{}\"}}\n",
            rng.below(40)
        );
        bytes.extend(line.into_bytes());
    }
    bytes.truncate(CORPUS_BYTES_MAX);
    bytes
}

/// The statements that make a table of orders, in the dialect that both databases have.
fn orders() -> String {
    let mut rng = XorShift::new(4);
    let mut sql = String::from(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, name TEXT, city TEXT, \
         amount INTEGER, note TEXT);\n",
    );
    let names = ["Ada", "Bela", "Chen", "Dora", "Emil", "Fatma", "Goran", "Hana", "Ivan", "Jun"];
    let cities = ["Oslo", "Lima", "Pune", "Turin", "Accra", "Osaka", "Perth", "Quito"];
    for rows in (0..ROWS).collect::<Vec<_>>().chunks(500) {
        let values = rows.iter().map(|id| {
            let (customer, amount, note) = (rng.below(9_000), rng.below(100_000), rng.next_u64());
            let (name, city) = (names[rng.below(10) as usize], cities[rng.below(8) as usize]);
            format!("({id},{customer},'{name} {customer}','{city}',{amount},'ref {note:x}')")
        });
        let values = values.collect::<Vec<_>>().join(",");
        sql.push_str(&format!("INSERT INTO orders VALUES {values};\n"));
    }
    sql.push_str("CREATE INDEX by_customer ON orders (customer);\n");
    sql
}

fn sqlite() -> anyhow::Result<Vec<u8>> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("orders.db");
    let sql = format!("BEGIN;\n{}COMMIT;\n", orders());
    feed(Command::new("sqlite3").arg(&file), &sql)?;
    let mut bytes = fs::read(file)?;
    bytes.truncate(CORPUS_BYTES_MAX);
    fill_block(&mut bytes);
    Ok(bytes)
}

/// A data directory with such a table, by a server in single-user mode: no port, no process left.
fn postgresql() -> anyhow::Result<Vec<u8>> {
    let place = tempfile::tempdir()?;
    let directory = place.path().join("data");
    let programs = postgres_programs().context("no initdb and postgres here")?;
    let mut make = of_nobody(place.path(), &programs.join("initdb"))?;
    feed(make.arg("--no-sync").arg("-D").arg(&directory), "")?;
    let mut serve = of_nobody(place.path(), &programs.join("postgres"))?;
    serve.args(["--single", "-F", "-D"]).arg(&directory).arg("postgres");
    feed(&mut serve, &orders())?;
    files_of(directory.join("base").to_str().context("a folder's name")?)
}

fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir(POSTGRES_PLACES).ok()?.flatten().map(|it| it.path().join("bin"));
    let mut found: Vec<PathBuf> = versions
        .filter(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop()
}

/// PostgreSQL refuses to run as root: then it is run by the user whom it comes with.
fn of_nobody(place: &Path, program: &Path) -> anyhow::Result<Command> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Command::new(program));
    }
    let owned = Command::new("chown").arg("postgres").arg(place).status()?;
    ensure!(owned.success(), "there is no user 'postgres', and PostgreSQL does not run as root");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    Ok(command)
}

/// Runs a program with `text` on its standard input.
fn feed(command: &mut Command, text: &str) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("{name} cannot be run"))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let fed = stdin.write_all(text.as_bytes());
    drop(stdin);
    let status = child.wait()?;
    fed.with_context(|| format!("{name} does not take what it is given"))?;
    ensure!(status.success(), "{name} has failed: {status}");
    Ok(())
}
