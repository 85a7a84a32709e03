use ashlar_control::types::{Access, Spare};

use super::*;

fn drive(name: &str, place: &str, states: &[&str]) -> PoolDrive {
    PoolDrive {
        name: name.to_owned(),
        pool: "tank".to_owned(),
        spec: Some(place.to_owned()),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        ..PoolDrive::default()
    }
}

fn pool(states: &[&str], drives: Vec<PoolDrive>) -> Pool {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    Pool {
        name: "tank".to_owned(),
        states,
        drives,
        settings: Some(PoolSettings { recon_prio_percent: 10, ..PoolSettings::default() }),
        ..Pool::default()
    }
}

fn volume() -> Volume {
    Volume {
        pool: "tank".to_owned(),
        name: "v0".to_owned(),
        size_bytes: 1 << 30,
        compression: "auto".to_owned(),
        ..Volume::default()
    }
}

#[test]
fn each_change_is_said_on_one_line_with_what_comes_next() {
    let members = || {
        vec![
            drive("drive-0", "/dev/sda", &["online"]),
            drive("drive-1", "/dev/sdb", &["evacuating"]),
        ]
    };
    let (well, ill) = (pool(&["online"], members()), pool(&["degraded", "rebuilding"], members()));
    let with_spare = Pool { spares: vec![Spare::default()], ..well.clone() };
    let protects = ChangeVolume { write_protected: Some(true), ..ChangeVolume::default() };
    let compresses =
        ChangeVolume { compression: Some("auto".to_owned()), ..ChangeVolume::default() };
    let both = ChangeVolume { write_protected: Some(false), ..compresses.clone() };
    let said = [
        (set(&well, &["recon-prio=10".to_owned()], true), "recon-p99 is off now"),
        (added(&well, "/dev/sda"), "drive-0 (/dev/sda) is a member of pool 'tank' now; new data"),
        (added(&ill, "/dev/sda"), "Ashlar restores what is lost"),
        (
            failed(&ill, "/dev/sda"),
            "drive-0 of pool 'tank' is given up; Ashlar restores what is lost",
        ),
        (failed(&pool(&["degraded", "read-only"], members()), "drive-0"), "takes no writes until"),
        (
            returned(&ill, "tank/drive-7", Some("/dev/sda")),
            "back as tank/drive-0; tank//dev/sda names it",
        ),
        (
            leaving(&well, "drive-1", false),
            "drive-1 leaves pool 'tank' once what lives on it is on others",
        ),
        (leaving(&well, "drive-1", true), "drive-1 stays"),
        (leaving(&well, "drive-9", false), "has left pool 'tank': the drive is free"),
        (leaving(&ill, "drive-0", false), "once what lived on it is restored"),
        (
            replaced(&well, "drive-1", "/dev/sda"),
            "drive-0 (/dev/sda) replaces drive-1 of pool 'tank'",
        ),
        (
            spare_added(&well, "file:/d/9.img,size=4GiB"),
            "/d/9.img is a spare of pool 'tank' now; the pool takes it by itself",
        ),
        (spare_added(&ill, "/dev/sdc"), "within seconds"),
        (spare_removed(&well, "/dev/sdc"), "none left"),
        (spare_removed(&with_spare, "/dev/sdc"), "1 of its spares"),
        (resized(&volume()), "volume 'tank/v0' has 1GiB now"),
        (renamed(&volume(), "tank/old"), "'tank/old' is 'tank/v0' now"),
        (changed(&volume(), &protects), "not write protected any more"),
        (
            changed(&Volume { write_protected: true, ..volume() }, &protects),
            "is write protected now",
        ),
        (changed(&volume(), &compresses), "stores by 'auto' what is written"),
        (changed(&volume(), &both), "hosts can write to it\nvolume 'tank/v0' stores by"),
    ];
    for (text, part) in said {
        assert!(
            text.contains(part) && (!text.contains('\n') || part.contains('\n')),
            "'{part}' is not in: {text}"
        );
    }
}

#[test]
fn who_may_see_a_volume_is_said_however_many_they_are() {
    let with = |allow_any, hosts: usize| {
        let hosts = (0..hosts).map(|n| format!("nqn.{n}")).collect();
        access(&Volume { access: Access { allow_any, hosts }, ..volume() })
    };
    let said = [with(true, 0), with(false, 0), with(false, 1), with(false, 500)];
    let parts = ["any host may", "no host may", "nqn.0 alone may", "500 hosts may"];
    for (text, part) in said.iter().zip(parts) {
        assert!(text.starts_with(part) && text.len() < 160, "{text}");
    }
}
