use super::*;

fn given(drives: &[(u16, &str)]) -> Vec<(DriveId, String)> {
    drives.iter().map(|(id, spec)| (DriveId(*id), (*spec).to_owned())).collect()
}

#[test]
fn drives_that_contradict_each_other_are_named_by_their_paths() {
    let given = given(&[(0, "/dev/nvme0n1"), (1, "file:/d/1.img,size=4GiB"), (1, "file:/copy/1.img")]);
    let cloned = not_opened("tank", OpenError::Cloned(DriveId(1)), &[], &given).to_string();
    assert!(cloned.contains("they are file:/d/1.img and file:/copy/1.img"), "{cloned}");
    let diverged = OpenError::Diverged { drive: DriveId(0) };
    let diverged = not_opened("tank", diverged, &[], &given[..2]).to_string();
    assert!(diverged.contains("it is /dev/nvme0n1, and the others are file:/d/1.img"), "{diverged}");
}
