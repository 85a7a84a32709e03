use super::*;

#[test]
fn randomness_fills_every_length_and_does_not_repeat() {
    let world = DriveWorld;
    assert_ne!(world.random_u64(), world.random_u64());
    let mut bytes = vec![0; 1000];
    world.fill_random(&mut bytes);
    assert!(bytes.chunks(100).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    world.fill_random(&mut []);
}

#[test]
fn time_goes_on_and_the_calendar_is_ours() {
    let world = DriveWorld;
    let before = world.now();
    assert!(world.now() >= before);
    assert!(world.unix_seconds() > 1_700_000_000);
}
