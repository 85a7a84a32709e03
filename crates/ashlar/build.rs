//! Which commit the program is built from: `ashlar --version` says it.

use std::path::Path;
use std::process::Command;

/// Says the commit where there is no git: an archive of the sources, a package.
const VARIABLE: &str = "ASHLAR_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let given = std::env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| if is_release() { of_git() } else { None });
    println!("cargo::rustc-env=ASHLAR_BUILT_FROM={}", commit.as_deref().unwrap_or("unknown"));
}

/// Programs that are built to be tested need no commit, and so are not built anew for each.
fn is_release() -> bool {
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    Path::new(&out).components().any(|part| part.as_os_str() == "release")
}

/// The commit that is checked out, and its date.
fn of_git() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let git = |words: &[&str]| git(&root, words);
    // The sources may lie in somebody else's repository.
    if git(&["rev-parse", "--show-toplevel"])? != root.to_str()? {
        return None;
    }
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = root.join(git(&["rev-parse", "--git-path", name])?);
        // One that is not there would be taken for one that has changed.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["log", "-1", "--abbrev=8", "--format=%h %cs"])
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let said = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim().to_owned())
}
