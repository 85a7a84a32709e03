use ashlar_block::Lba;
use ashlar_format::ids::{Family, Layer};
use ashlar_raid::Level;

use crate::testing::{DONE_ONCE, at_once, steps, ticking};

#[test]
fn a_read_of_many_blocks_is_one_look_up_between_two_looks_at_the_clock() {
    let pool = ticking(Level::RAID5, 3);
    at_once(pool.read(Family(1), Layer(0), Lba(0), 64)).expect("good drives");
    assert_eq!(steps(&pool).map, DONE_ONCE);
}
