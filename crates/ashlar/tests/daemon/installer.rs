//! The installer of the archive, as far as it needs no systemd: `make package-test` does the rest.

use std::fs;
use std::process::Command;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

/// A unit that names no whole path is none: systemd did not start it.
#[test]
fn a_prefix_below_the_directory_that_it_is_called_in_is_written_whole_into_the_unit() {
    let place = tempfile::tempdir().expect("room");
    let archive = place.path().canonicalize().expect("it is there");
    let put = |name: &str, content: &[u8]| {
        let path = archive.join(name);
        fs::create_dir_all(path.parent().expect("it is below")).expect("room");
        fs::write(path, content).expect("room");
    };
    let packaged = |name: &str| fs::read(format!("{PACKAGING}/{name}")).expect("it is there");
    put("install.sh", &packaged("install.sh"));
    put("root/usr/bin/ashlar", b"the program");
    put("root/usr/share/doc/ashlar/copyright", b"whose it is");
    put("root/usr/lib/systemd/system/ashlar.service", &packaged("ashlar.service"));
    put("root/etc/ashlar/ashlar.toml", b"");
    let output = Command::new("sh")
        .args(["install.sh", "--prefix", "opt"])
        .current_dir(&archive)
        .env("DESTDIR", archive.join("dest"))
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    let destination = archive.join("dest");
    let unit = fs::read_to_string(destination.join("etc/systemd/system/ashlar.service"));
    let program = archive.join("opt/bin/ashlar");
    let begins = format!("ExecStart={} serve", program.display());
    assert!(unit.expect("it is there").contains(&begins), "{begins} is not in the unit");
    let installed = destination.join(program.strip_prefix("/").expect("it is whole"));
    assert_eq!(fs::read(installed).expect("it is there"), b"the program");
}
