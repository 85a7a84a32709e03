use super::*;

fn hint_for(content: &str, is_of_pool: bool) -> String {
    let (spec, content) = ("x.img".to_owned(), content.to_owned());
    hint(&NodeError::Holds { spec, content, is_of_pool }).expect("there is a way out")
}

/// Whoever cleared the label of such a drive was told to clear its label.
#[test]
fn what_no_pool_has_written_is_not_to_be_imported_or_cleared_but_only_to_be_forced() {
    let foreign = hint_for("an ext4 file system, which is not Ashlar's", false);
    assert!(foreign.contains("--force") && !foreign.contains("label-clear"), "{foreign}");
    let pool = hint_for("drive 3 of the Ashlar pool 'tank'", true);
    for part in ["ashlar pool import", "ashlar drive label-clear x.img", "--force"] {
        assert!(pool.contains(part), "'{part}' is not in: {pool}");
    }
}
