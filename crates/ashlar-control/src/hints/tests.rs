use super::*;

/// A pool `myDRIVE` had `ashlar pool replace mydrive-1` printed, which is no pool of anybody.
#[test]
fn names_that_have_a_word_of_the_hint_in_them_stay_as_they_are() {
    let hint = "replace it: `ashlar pool replace POOL DRIVE /dev/...`";
    let settle = |pool, drive| settled(hint, Some(pool), Some(drive));
    let expected = "replace it: `ashlar pool replace myDRIVE drive-1 /dev/...`";
    assert_eq!(settle("myDRIVE", "drive-1"), expected);
    assert_eq!(settle("DRIVE", "POOL"), "replace it: `ashlar pool replace DRIVE POOL /dev/...`");
}

#[test]
fn whole_words_of_commands_are_named_and_nothing_else() {
    let text = "POOL: `ashlar drive return POOL/DRIVE`, or `ashlar x POOL-1 SPOOL POOL`";
    let expected = "POOL: `ashlar drive return tank/drive-2`, or `ashlar x POOL-1 SPOOL tank`";
    assert_eq!(settled(text, Some("tank"), Some("drive-2")), expected);
    assert_eq!(settled(text, None, None), text);
}
