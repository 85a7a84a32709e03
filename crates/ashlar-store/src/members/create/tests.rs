use super::*;

fn new(level: Level) -> NewPool {
    NewPool { name: "tank".into(), level, chunk_bytes: None, segment_numbers: None }
}

#[test]
fn chunks_are_cut_by_the_smallest_drive() {
    let chunk = |size: u64| {
        plan(&new(Level::RAID5), &[size, size * 2, size]).expect("large enough").layouts[0]
            .chunk_bytes
    };
    assert_eq!(chunk(4 << 30), 1 << 20);
    assert_eq!(chunk(16 << 30), 4 << 20);
    assert_eq!(chunk(8 << 40), 16 << 20);
}

#[test]
fn chunks_grow_where_there_would_be_more_segments_than_numbers() {
    let plan_of = |drives: usize| plan(&new(Level::RAID1), &vec![30 << 40; drives]);
    let chunk = |drives| plan_of(drives).expect("large enough").layouts[0].chunk_bytes;
    assert_eq!(chunk(2), 16 << 20);
    assert_eq!(chunk(8), 16 << 20);
    assert_eq!(chunk(16), 32 << 20);
    let error = plan_of(64).expect_err("more than there are numbers");
    assert!(error.to_string().contains("use fewer drives, or larger chunks"), "{error}");
}

#[test]
fn nothing_overlaps_and_nothing_is_beyond_the_end() {
    for size in [64 << 20, 4 << 30, (1 << 40) + 12345 * 4096] {
        let plan = plan(&new(Level::RAID6), &[size; 6]).expect("large enough");
        let layout = plan.layouts[0];
        assert_eq!(layout.chunks_start, Superblock::CHUNKS_START);
        let end = layout.offset(layout.chunk_count - 1, 0) + u64::from(layout.chunk_bytes);
        assert!(end <= Superblock::second_offset(size), "{size}");
    }
}

#[test]
fn too_few_and_too_small_drives_are_named() {
    let error = plan(&new(Level::RAID5), &[4 << 30; 2]).expect_err("two drives");
    assert!(
        error.to_string().contains("level 5 needs at least 3 drives, and 2 were given"),
        "{error}"
    );
    let error = plan(&new(Level::RAID5), &[4 << 30, 4 << 30, 8 << 20]).expect_err("8 MiB");
    assert!(
        error
            .to_string()
            .starts_with("drive 2 has 8MiB, and a pool of this shape needs drives of at least"),
        "{error}"
    );
}

#[test]
fn names_that_could_be_mistaken_for_something_else_are_refused() {
    for name in ["", "a/b", "a b", "é", &"x".repeat(65)] {
        assert!(check_name(name).is_err(), "{name}");
    }
    assert!(check_name("tank-1.old_x").is_ok());
}
