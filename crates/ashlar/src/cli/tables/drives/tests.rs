use super::*;

fn drive(name: &str, spec: &str, states: &[&str]) -> PoolDrive {
    PoolDrive {
        name: name.to_owned(),
        pool: "tank".to_owned(),
        spec: Some(spec.to_owned()),
        kernel_name: Some("nvme10n1".to_owned()),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        size_bytes: Some(1_920_383_410_176),
        ..PoolDrive::default()
    }
}

#[test]
fn a_pools_drives_fit_a_terminal_with_their_lasting_names_and_the_kernels() {
    let drives: Vec<PoolDrive> = [
        ("drive-0", "/dev/disk/by-id/nvme-eui.0025385b71b10a3f", "online"),
        (
            "drive-101",
            "/dev/disk/by-id/nvme-SAMSUNG_MZQL21T9HCJR-00A07_S64GNE0R801234",
            "evacuating",
        ),
        (
            "drive-2",
            "file:/srv/a/rather/long/directory/of/drives/2.img,size=4GiB,sparse=on",
            "online",
        ),
    ]
    .map(|(name, spec, state)| drive(name, spec, &[state, "sparse"]))
    .into();
    let text = drives_of_pool(&drives);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in [
        "nvme-eui.0025385b71b10a3f ",
        "nvme10n1",
        "…",
        "S64GNE0R801234 ",
        "drives/2.img ",
        "evacuating, ",
        " sparse",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    assert!(!text.contains("by-id") && !text.contains("size=4GiB"), "{text}");
    assert!(super::drives(&drives).contains("POOL"));
}

#[test]
fn what_is_wrong_with_a_drive_stands_below_the_table() {
    let failing = PoolDrive {
        read_errors: Some(1),
        wrong_answers: Some(2),
        ..drive("drive-1", "/dev/sda", &["online"])
    };
    let text = drives_of_pool(&[drive("drive-0", "/dev/sdb", &["online"]), failing]);
    assert_eq!(
        text.lines().last(),
        Some("tank/drive-1: 1 read refused; 2 wrong answers"),
        "{text}"
    );
}

#[test]
fn a_place_is_shown_without_what_all_of_them_have_in_common() {
    let cases = [
        ("/dev/sda", "/dev/sda"),
        ("/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "wwn-0x5000c500a1b2c3d4"),
        ("file:/d/0.img,size=4GiB", "/d/0.img"),
        ("mem:1GiB", "mem:1GiB"),
    ];
    for (spec, wanted) in cases {
        assert_eq!(plain_place(spec), wanted);
    }
}

#[test]
fn a_drive_is_shown_with_all_of_its_names() {
    let text = member(&drive("drive-0", "/dev/disk/by-id/nvme-eui.0025385b71b10a3f", &["online"]));
    for part in ["tank/drive-0", "/dev/disk/by-id/nvme-eui.0025385b71b10a3f", "nvme10n1", "online"]
    {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}
