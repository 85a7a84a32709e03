//! What the daemon says where the operating system does not let it, and whom it lets itself.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{NOBODY, Place, refused, skip};

#[test]
fn a_drive_that_may_not_be_opened_is_named_with_the_way_out() {
    let place = Place::new();
    let serve = place.serve_unprivileged(&place.path(""));
    for index in 0..3 {
        let image = place.image(index);
        File::create(&image).unwrap().set_len(48 << 20).unwrap();
        place.give_to_unprivileged(&image);
    }
    fs::set_permissions(place.image(1), Permissions::from_mode(0o0)).unwrap();
    let _daemon = place.start_as(serve);
    let mut create = vec!["pool", "create", "tank", "--level", "5"];
    let drives = [0, 1, 2].map(|index| place.file(index));
    drives.iter().for_each(|drive| create.extend(["--drive", drive]));
    let said = place.refused(&create);
    let image = place.image(1).display().to_string();
    assert!(
        said.contains(&format!("{image}: permission denied")) && said.contains("group disk"),
        "{said}"
    );
    fs::set_permissions(place.image(1), Permissions::from_mode(0o600)).unwrap();
    place.ok(&create);
}

#[test]
fn a_state_directory_that_may_not_be_written_is_named() {
    let place = Place::new();
    let state = place.path("state");
    let serve = place.serve_unprivileged(&state);
    fs::create_dir(&state).unwrap();
    place.give_to_unprivileged(&state);
    fs::set_permissions(&state, Permissions::from_mode(0o0)).unwrap();
    let said = refused(serve);
    assert!(
        said.contains(&state.display().to_string()) && said.contains("ermission denied"),
        "{said}"
    );
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_socket_is_the_owners_alone() {
    let place = Place::new();
    let _daemon = place.start();
    assert_eq!(fs::metadata(place.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    if !rustix::process::geteuid().is_root() {
        return skip("only root can try as another user");
    }
    // Somebody else needs to reach the binary and the socket before being refused there.
    let binary = place.path("binary");
    let copied =
        Command::new("cp").arg(env!("CARGO_BIN_EXE_ashlar")).arg(&binary).status().unwrap();
    assert!(copied.success());
    fs::set_permissions(place.path(""), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(binary);
    command
        .arg("--socket")
        .arg(place.socket())
        .arg("status")
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/");
    let said = refused(command);
    assert!(said.contains("permission denied"), "{said}");
}
