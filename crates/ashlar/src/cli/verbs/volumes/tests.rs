use super::*;

#[test]
fn a_volume_has_a_pool_and_a_name() {
    assert_eq!(path_of("tank/v0").unwrap(), "/volumes/tank/v0");
    for volume in
        ["tank", "tank/", "/v0", "tank/a/b", "tank/..", "tank/a b", "../v0", "_x/v0", "tank/-v"]
    {
        assert!(path_of(volume).is_err(), "{volume}");
    }
}
