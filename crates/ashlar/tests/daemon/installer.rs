//! The installer of the archive, as far as it needs no systemd: `make package-test` does the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
/// What the installer asks before it starts a service.
const ASKS: &str = r#"[ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]"#;

/// An unpacked archive, of which all goes below `dest`.
struct Archive {
    path: PathBuf,
    _place: TempDir,
}

impl Archive {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("room");
        let path = place.path().canonicalize().expect("it is there");
        let archive = Archive { path, _place: place };
        let packaged = |name: &str| fs::read(format!("{PACKAGING}/{name}")).expect("it is there");
        archive.put("install.sh", &packaged("install.sh"));
        archive.put("root/usr/bin/ashlar", b"the program");
        archive.put("root/usr/share/doc/ashlar/copyright", b"whose it is");
        archive.put("root/usr/lib/systemd/system/ashlar.service", &packaged("ashlar.service"));
        archive.put("root/etc/ashlar/ashlar.toml", b"");
        archive
    }

    fn put(&self, name: &str, content: &[u8]) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("it is below")).expect("room");
        fs::write(path, content).expect("room");
    }

    fn put_script(&self, name: &str, script: &str) {
        self.put(name, format!("#!/bin/sh\n{script}\n").as_bytes());
        fs::set_permissions(self.path.join(name), fs::Permissions::from_mode(0o755)).expect("ours");
    }

    fn dest(&self) -> PathBuf {
        self.path.join("dest")
    }

    /// Installs it with the prefix `opt`, by programs of `tools` before those of the machine.
    fn install(&self) -> Output {
        let path = std::env::var("PATH").expect("there is one");
        Command::new("sh")
            .args(["install.sh", "--prefix", "opt"])
            .current_dir(&self.path)
            .env("DESTDIR", self.dest())
            .env("PATH", format!("{}:{path}", self.path.join("tools").display()))
            .output()
            .expect("a shell")
    }

    /// The same as if systemd ran, with a program that says `status` of any configuration. Returns
    /// what systemd was asked to do as well.
    fn install_with_systemd(&self, status: u8) -> (Output, String) {
        let installer = fs::read_to_string(self.path.join("install.sh")).expect("it is there");
        assert!(installer.contains(ASKS), "it asks otherwise");
        self.put("install.sh", installer.replace(ASKS, "true").as_bytes());
        let asked = self.path.join("asked");
        self.put_script("tools/systemctl", &format!("echo \"$*\" >>'{}'", asked.display()));
        self.put_script("tools/getent", "exit 0");
        // The prefix is where the daemon finds its program, which DESTDIR does not say.
        self.put_script("opt/bin/ashlar", &format!("exit {status}"));
        (self.install(), fs::read_to_string(asked).expect("it was asked"))
    }
}

/// A unit that names no whole path is none: systemd did not start it.
#[test]
fn a_prefix_below_the_directory_that_it_is_called_in_is_written_whole_into_the_unit() {
    let archive = Archive::new();
    let output = archive.install();
    assert!(output.status.success(), "{output:?}");
    let unit = fs::read_to_string(archive.dest().join("etc/systemd/system/ashlar.service"));
    let program = archive.path.join("opt/bin/ashlar");
    let begins = format!("ExecStart={} serve", program.display());
    assert!(unit.expect("it is there").contains(&begins), "{begins} is not in the unit");
    assert_eq!(installed(&archive, &program), b"the program");
}

#[test]
fn a_daemon_that_is_not_started_for_its_configuration_is_a_status_of_its_own() {
    let archive = Archive::new();
    let (output, asked) = archive.install_with_systemd(1);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("was not started anew") && said.contains("(status 3)"), "{said}");
    assert!(!asked.contains("restart"), "{asked}");
    assert_eq!(installed(&archive, &archive.path.join("opt/bin/ashlar")), b"the program");
}

#[test]
fn a_daemon_whose_configuration_is_good_is_started() {
    let (output, asked) = Archive::new().install_with_systemd(0);
    assert!(output.status.success(), "{output:?}");
    assert!(asked.ends_with("restart ashlar.service\n"), "{asked}");
}

fn installed(archive: &Archive, path: &Path) -> Vec<u8> {
    let below = path.strip_prefix("/").expect("it is whole");
    fs::read(archive.dest().join(below)).expect("it is there")
}
