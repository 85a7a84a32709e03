use super::*;

#[test]
fn each_reason_has_its_own_way_out() {
    let table = [
        (rustix::io::Errno::NOSPC, "make room on the file system of /s"),
        (rustix::io::Errno::DQUOT, "make room on the file system of /s"),
        (rustix::io::Errno::ROFS, "remount,rw"),
        (rustix::io::Errno::ACCESS, "let the user that the daemon runs as write in /s"),
        (rustix::io::Errno::NOENT, "make /s a directory"),
        (rustix::io::Errno::ISDIR, "take the directory /s/node.toml away"),
        (rustix::io::Errno::IO, "what ails the drive"),
    ];
    for (errno, way) in table {
        let said = way_out(&errno.into(), Path::new("/s/node.toml"));
        assert!(said.contains(way), "{errno:?}: {said}");
    }
}
