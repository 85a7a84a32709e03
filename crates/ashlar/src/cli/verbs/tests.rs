use super::*;

#[test]
fn a_relative_file_is_the_same_for_the_daemon() {
    let here = std::env::current_dir().unwrap();
    let expected = format!("file:{}/d/0.img,size=4GiB,sparse=on", here.display());
    assert_eq!(absolute("file:d/0.img,size=4GiB,sparse=on").unwrap(), expected);
    assert_eq!(absolute("./nvme").unwrap(), format!("{}/nvme", here.display()));
    for drive in ["mem:64MiB", "file:/d/0.img,size=4GiB"] {
        let expected = format!("{drive},model={}/slow.toml", here.display());
        assert_eq!(absolute(&format!("{drive},model=slow.toml")).unwrap(), expected);
    }
}

#[test]
fn what_is_not_a_relative_path_stays_as_it_is() {
    for drive in [
        "/dev/nvme1n1",
        "file:/d/0.img,size=4GiB",
        "mem:64MiB,model=nvme-gen4",
        "mem:64MiB",
        "nonsense",
        "file:",
        "",
    ] {
        assert_eq!(absolute(drive).unwrap(), drive);
    }
}

#[test]
fn a_volume_has_a_pool_and_a_name() {
    assert_eq!(path_of("tank/v0").unwrap(), "/volumes/tank/v0");
    for volume in ["tank", "tank/", "/v0", "tank/a/b", "tank/..", "tank/a b"] {
        assert!(path_of(volume).is_err(), "{volume}");
    }
}
