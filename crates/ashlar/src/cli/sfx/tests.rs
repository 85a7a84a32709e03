use ashlar_control::types::PoolSpace;

use super::*;

fn pool(written: u64, stored: u64, ratio: Option<f64>) -> Pool {
    Pool {
        name: "tank".to_owned(),
        states: vec!["online".to_owned()],
        space: Some(PoolSpace {
            safe_to_write_bytes: 1 << 30,
            stored_bytes: stored,
            logical_used_bytes: written,
            compression_ratio: ratio,
            provisioned_bytes: 4 << 30,
            ..PoolSpace::default()
        }),
        ..Pool::default()
    }
}

#[test]
fn the_fields_are_in_the_drivers_order_and_in_sectors_of_512_bytes() {
    let stat = CapacityStat::of(&pool(4100 << 10, 1000 << 10, Some(4.1))).expect("it is open");
    let said = "free_space: 2097152\nphysical_size: 2000\nlogical_size: 8200\ncomp_ratio: 4.10\n\
                provisioned_cap: 8388608\nspace_flag: 0";
    assert_eq!(stat.to_string(), said);
}

#[test]
fn noise_and_nothing_have_a_ratio_of_one() {
    let ratio = |pool: &Pool| CapacityStat::of(pool).expect("it is open").comp_ratio;
    assert_eq!(ratio(&pool(0, 0, None)), "1.00");
    assert_eq!(ratio(&pool(1 << 20, 1 << 20, Some(1.0))), "1.00");
    assert_eq!(ratio(&pool(4095, 4096, Some(0.999))), "1.00");
}

#[test]
fn the_flag_says_how_little_room_is_left() {
    let flag = |state: &str| {
        let states = vec![state.to_owned()];
        CapacityStat::of(&Pool { states, ..pool(0, 0, None) }).expect("it is open").space_flag
    };
    assert_eq!((flag("online"), flag("nearly-full"), flag("full")), (0, 1, 2));
}

#[test]
fn a_pool_that_is_not_open_has_no_figures() {
    let closed = Pool { name: "tank".to_owned(), ..Pool::default() };
    let why = CapacityStat::of(&closed).expect_err("nobody knows").to_string();
    assert!(why.contains("pool 'tank' is not open"), "{why}");
}
