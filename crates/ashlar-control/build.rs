//! Lists what `make web` has built in `web/dist`, for the daemon to have it within itself. What is
//! there is committed: building Ashlar needs no Node.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let dist = fs::canonicalize(&dist)
        .map_err(|error| format!("{}: {error}: `make web` builds it", dist.display()))?;
    let mut files = Vec::new();
    collect(&dist, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files.iter().filter(|file| !is_packed(file)) {
        let name = file.strip_prefix(&dist)?.display();
        let whole = file.display();
        writeln!(
            list,
            "    File {{ name: {:?}, plain: include_bytes!({:?}), gzip: include_bytes!({:?}), brotli: include_bytes!({:?}) }},",
            name.to_string(),
            whole.to_string(),
            format!("{whole}.gz"),
            format!("{whole}.br"),
        )?;
    }
    list.push(']');
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("dashboard.rs");
    fs::write(out, list)?;
    Ok(())
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}

/// One that stands beside the same file unpacked.
fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "gz" || end == "br")
}
