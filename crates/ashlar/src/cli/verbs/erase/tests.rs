use super::*;

#[test]
fn each_drive_is_named_with_what_was_done_to_it() {
    let erase = |spec: &str, state: &str, method: Option<&str>, problem: Option<&str>| DriveErase {
        spec: spec.to_owned(),
        states: vec![state.to_owned()],
        method: method.map(str::to_owned),
        problem: problem.map(str::to_owned),
        size_bytes: Some(1 << 30),
        ..DriveErase::default()
    };
    let all = [
        erase("file:/d/0.img,size=1GiB", "finished", Some("discard"), None),
        erase("/dev/sda", "finished", Some("overwrite"), None),
        erase("tank/drive-2", "missing", None, Some("the drive was not there")),
    ];
    assert_eq!(
        said("tank", &all),
        "pool 'tank' is destroyed\n\
         file:/d/0.img: all of it was discarded (1GiB)\n\
         /dev/sda: zeros were written over all of it (1GiB)\n\
         tank/drive-2: not erased: the drive was not there"
    );
}
