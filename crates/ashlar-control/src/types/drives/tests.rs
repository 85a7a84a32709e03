use super::*;

fn drive() -> PoolDrive {
    PoolDrive {
        name: "drive-2".to_owned(),
        pool: "tank".to_owned(),
        spec: Some("/dev/disk/by-id/wwn-0x5000".to_owned()),
        by_id: Some("/dev/disk/by-id/wwn-0x5000".to_owned()),
        kernel_name: Some("sdb".to_owned()),
        ..PoolDrive::default()
    }
}

#[test]
fn a_member_is_meant_by_whatever_pool_show_lists_with_or_without_its_pool() {
    for name in ["drive-2", "2", "/dev/disk/by-id/wwn-0x5000", "wwn-0x5000", "sdb", "/dev/sdb"] {
        assert!(drive().is_named(name), "{name}");
        assert!(drive().is_named(&format!("tank/{name}")), "tank/{name}");
        assert!(!drive().is_named(&format!("dozer/{name}")), "dozer/{name}");
    }
    for name in
        ["", "tank", "tank/", "drive", "drive-", "drive-22", "22", "sd", "wwn", "/dev/sdb1", "/"]
    {
        assert!(!drive().is_named(name), "{name}");
    }
}

#[test]
fn a_file_is_meant_by_its_path_however_it_was_given() {
    let spec = Some("file:/d/a\\,b.img,size=4GiB".to_owned());
    let file = PoolDrive { spec, by_id: None, kernel_name: None, ..drive() };
    for name in [
        "file:/d/a\\,b.img",
        "/d/a\\,b.img",
        "tank//d/a\\,b.img",
        "tank/file:/d/a\\,b.img,size=4GiB",
    ] {
        assert!(file.is_named(name), "{name}");
    }
    for name in ["/d/a", "b.img", "sdb"] {
        assert!(!file.is_named(name), "{name}");
    }
}
