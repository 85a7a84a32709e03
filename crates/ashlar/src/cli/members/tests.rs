use super::*;

fn member(pool: &str, number: u16, spec: &str, kernel: Option<&str>) -> PoolDrive {
    PoolDrive {
        pool: pool.to_owned(),
        name: format!("drive-{number}"),
        spec: Some(spec.to_owned()),
        kernel_name: kernel.map(str::to_owned),
        by_id: kernel.map(|_| spec.to_owned()),
        ..PoolDrive::default()
    }
}

fn members() -> Vec<PoolDrive> {
    vec![
        member("tank", 0, "file:/d/0.img", None),
        member("tank", 1, "/dev/disk/by-id/nvme-A", Some("nvme0n1")),
        member("dozer", 0, "file:/d/\u{1b}.img", None),
        member("dozer", 1, "/dev/disk/by-id/nvme-B", Some("sdb")),
    ]
}

fn chosen(drive: &str) -> (String, String) {
    choose(&members(), drive).unwrap()
}

fn both(pool: &str, drive: &str) -> (String, String) {
    (pool.to_owned(), drive.to_owned())
}

#[test]
fn a_drive_is_known_without_its_pool_by_what_leads_to_it() {
    assert_eq!(chosen("/d/0.img"), both("tank", "/d/0.img"));
    assert_eq!(chosen("file:/d/0.img"), both("tank", "file:/d/0.img"));
    assert_eq!(chosen("sdb"), both("dozer", "sdb"));
    assert_eq!(chosen("/dev/sdb"), both("dozer", "/dev/sdb"));
    assert_eq!(chosen("nvme-A"), both("tank", "nvme-A"));
    let shown = format!("/d/{}.img", ashlar_block::printable("\u{1b}"));
    assert_eq!(chosen(&shown).0, "dozer", "as it is shown");
}

#[test]
fn a_pool_in_front_goes_before_all_else() {
    assert_eq!(chosen("tank/drive-1"), both("tank", "drive-1"));
    assert_eq!(chosen("tank/1"), both("tank", "1"));
    assert_eq!(chosen("tank//d/0.img"), both("tank", "/d/0.img"));
    assert_eq!(
        chosen("gone/drive-1"),
        both("gone", "drive-1"),
        "the daemon says that there is none"
    );
}

#[test]
fn a_number_alone_and_what_leads_nowhere_or_to_several_pools_is_refused() {
    for none in ["drive-1", "1", "/d/7.img", "sdz"] {
        let said = choose(&members(), none).unwrap_err().to_string();
        assert!(said.contains("names no drive of a pool"), "{said}");
    }
    let mut members = members();
    members.push(member("third", 0, "file:/d/0.img", None));
    let said = choose(&members, "/d/0.img").unwrap_err().to_string();
    assert!(said.contains("drives of several pools"), "{said}");
}
