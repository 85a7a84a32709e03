use std::path::Path;

use super::group_limit_bytes;

/// The limit where these files hold these limits.
fn limit(membership: &str, files: &[(&str, &str)]) -> Option<u64> {
    group_limit_bytes(membership, |path| {
        files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
    })
}

#[test]
fn the_least_limit_of_a_group_and_those_above_it_counts() {
    let files = [
        ("/sys/fs/cgroup/memory.max", "9000\n"),
        ("/sys/fs/cgroup/system.slice/memory.max", "4096\n"),
        ("/sys/fs/cgroup/system.slice/ashlar.service/memory.max", "max\n"),
    ];
    assert_eq!(limit("0::/system.slice/ashlar.service\n", &files), Some(4096));
    assert_eq!(limit("0::/\n", &files), Some(9000));
}

#[test]
fn groups_of_both_versions_are_asked() {
    let files = [
        ("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "512\n"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ];
    assert_eq!(limit("3:cpu,memory:/box\n0::/\n", &files), Some(512));
    assert_eq!(limit("3:cpu:/box\n0::/box\n", &files), None);
    assert_eq!(limit("4:memory:/not/here\n", &files), Some(9_223_372_036_854_771_712));
}

#[test]
fn what_cannot_be_read_limits_nothing() {
    for membership in ["", "garbage", "0:", "0::", "1:memory:/a"] {
        assert_eq!(limit(membership, &[]), None, "{membership}");
    }
    assert_eq!(limit("0::/a\n", &[("/sys/fs/cgroup/a/memory.max", "a lot\n")]), None);
}
