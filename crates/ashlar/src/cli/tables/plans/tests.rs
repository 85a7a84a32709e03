use super::*;

fn drive(spec: &str, content: &str) -> DriveInfo {
    DriveInfo {
        spec: spec.to_owned(),
        kind: "block device".to_owned(),
        size_bytes: 8 << 40,
        content: content.to_owned(),
        model: Some("FAST 9000".to_owned()),
        ..DriveInfo::default()
    }
}

#[test]
fn a_pool_that_would_be_made_names_what_would_be_lost() {
    let plan = PoolPlan {
        name: "tank".to_owned(),
        level: "1".to_owned(),
        chunk_bytes: 16 << 20,
        raw_bytes: 16 << 40,
        usable_bytes: 8 << 40,
        limit_bytes: 7 << 40,
        drives: vec![
            drive("/dev/nvme1n1", "nothing"),
            drive("/dev/nvme2n1", "an ext4 file system"),
        ],
        notes: vec!["level 10 is level 1 here".to_owned()],
    };
    assert_eq!(
        pool_plan(&plan),
        " WHERE         SIZE  HOLDS                MODEL
 /dev/nvme1n1  8TiB  nothing              FAST 9000
 /dev/nvme2n1  8TiB  an ext4 file system  FAST 9000
pool 'tank' would be made: level 1 over 2 drives, 7TiB may be stored (16TiB
    raw), in chunks of 16MiB
note: level 10 is level 1 here
This was a dry run: nothing has changed."
    );
}

#[test]
fn a_drive_that_would_replace_another_one_names_it() {
    let drive = drive("/dev/nvme3n1", "nothing");
    let replaces = Some("drive-2".to_owned());
    let plan = DrivePlan { pool: "tank".to_owned(), drive, raw_bytes: 8 << 40, replaces };
    let text = drive_plan(&plan);
    assert!(text.contains("pool 'tank' would take /dev/nvme3n1 instead of drive-2"), "{text}");
    assert!(text.ends_with(NOTHING_CHANGED), "{text}");
}
