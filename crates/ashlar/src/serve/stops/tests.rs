use ashlar_block::PoolUuid;
use futures_util::FutureExt;

use super::*;

fn stopped(is_let_go: bool) -> StoppedPool {
    let (name, why) = ("tank".to_owned(), "no room".to_owned());
    StoppedPool { uuid: PoolUuid([7; 16]), name, why, is_let_go }
}

#[test]
fn a_pool_is_known_from_its_stop_on_and_next_once_it_is_let_go_of() {
    let stops = Stops::default();
    let uuid = PoolUuid([7; 16]).to_string();
    assert_eq!(stops.get(&uuid), None);
    stops.tell(stopped(false));
    assert_eq!(stops.get(&uuid), Some(stopped(false)));
    assert_eq!(stops.next().now_or_never(), None);
    stops.tell(stopped(true));
    assert_eq!(stops.next().now_or_never(), Some(stopped(true)));
    stops.forget(&stopped(true));
    assert_eq!(stops.get(&uuid), None);
}

#[test]
fn one_that_is_stopped_again_meanwhile_is_not_forgotten_for_the_first_time() {
    let stops = Stops::default();
    stops.tell(stopped(true));
    stops.tell(stopped(false));
    stops.forget(&stopped(true));
    assert_eq!(stops.get(&PoolUuid([7; 16]).to_string()), Some(stopped(false)));
}
