use super::*;

#[test]
fn a_relative_file_is_the_same_for_the_daemon() {
    let here = std::env::current_dir().unwrap();
    let expected = format!("file:{}/d/0.img,size=4GiB,sparse=on", here.display());
    assert_eq!(absolute("file:d/0.img,size=4GiB,sparse=on").unwrap(), expected);
    for drive in ["./nvme", "drives/nvme"] {
        let expected = format!("{}/{}", here.display(), drive.trim_start_matches("./"));
        assert_eq!(absolute(drive).unwrap(), expected);
    }
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
fn a_bare_name_is_a_path_where_it_is_there() {
    let here = std::env::current_dir().unwrap();
    // Tests run in the directory of their crate.
    for there in ["src", "Cargo.toml"] {
        assert_eq!(absolute(there).unwrap(), format!("{}/{there}", here.display()));
        assert_eq!(absolute_member("tank", there).unwrap(), format!("{}/{there}", here.display()));
    }
}

#[test]
fn a_member_is_meant_by_its_name_whatever_files_there_are() {
    for drive in ["drive-2", "2", "/dev/nvme1n1"] {
        assert_eq!(absolute_member("tank", drive).unwrap(), drive);
        assert_eq!(absolute_member("tank", &format!("tank/{drive}")).unwrap(), drive);
    }
    let here = std::env::current_dir().unwrap();
    assert_eq!(
        absolute_member("tank", "./drive-2").unwrap(),
        format!("{}/drive-2", here.display())
    );
}

#[test]
fn a_comma_in_a_path_is_no_end_of_it() {
    let here = std::env::current_dir().unwrap();
    let expected = format!("file:{}/d/a\\,b.img,size=4GiB", here.display());
    assert_eq!(absolute("file:d/a\\,b.img,size=4GiB").unwrap(), expected);
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("a,b");
    std::fs::write(&there, []).unwrap();
    let text = there.to_str().unwrap();
    assert_eq!(
        absolute(text).unwrap(),
        text.replace(',', "\\,"),
        "what is there needs no backslash"
    );
}
