//! Which commit the program is built from: `ashlar --version` says it.

use std::path::Path;
use std::process::Command;

/// Says the commit where there is no git: an archive of the sources, a package.
const VARIABLE: &str = "ASHLAR_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let of_release = || if is_release() { of_git() } else { None };
    let commit = built_from(std::env::var(VARIABLE).ok(), of_release);
    println!("cargo::rustc-env=ASHLAR_BUILT_FROM={commit}");
}

/// What was `given`, or else what git says, or else that nobody knows.
pub fn built_from(given: Option<String>, git: impl FnOnce() -> Option<String>) -> String {
    let given = given.filter(|commit| !commit.is_empty());
    given.or_else(git).unwrap_or_else(|| "unknown".to_owned())
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
