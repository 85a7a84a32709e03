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

#[test]
fn a_new_name_may_be_written_with_its_own_pool_and_with_no_other() {
    assert_eq!(new_name("tank/v0", "v1").unwrap(), "v1");
    assert_eq!(new_name("tank/v0", "tank/v1").unwrap(), "v1");
    let said = new_name("tank/v0", "dozer/v1").unwrap_err().to_string();
    assert!(said.contains("pool 'tank'") && said.contains("volume rename tank/v0 NAME"), "{said}");
}
