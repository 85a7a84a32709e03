use super::*;

fn held(spec: &str, is_lost: bool) -> Named {
    let (pool, drive) = ("tank".to_owned(), "drive-2".to_owned());
    Named::held(&HeldDrive { spec: spec.to_owned(), pool, drive, is_lost, is_being_erased: false })
}

fn said(one: &Named, other: &Named, overlap: Overlap) -> String {
    refusal(one, other, overlap).map(|error| error.detail).unwrap_or_default()
}

#[test]
fn both_names_of_a_drive_that_is_named_twice_are_told() {
    let (file, looped) = (Named::wanted("file:/d/0.img,size=4GiB"), Named::wanted("/dev/loop0"));
    assert_eq!(
        said(&file, &looped, Overlap::Same),
        "file:/d/0.img and /dev/loop0 are the same drive: name it once"
    );
    let lies = "/dev/loop0 lies on file:/d/0.img, and is written to with it: name one of them";
    assert_eq!(said(&looped, &file, Overlap::On), lies);
    assert_eq!(said(&file, &looped, Overlap::Below), lies);
}

#[test]
fn a_drive_that_is_in_use_under_another_name_is_told_with_whose_it_is() {
    let (wanted, used) = (Named::wanted("/dev/sdb"), held("/dev/disk/by-id/wwn-1", false));
    let same =
        "/dev/sdb (the same drive as /dev/disk/by-id/wwn-1): in use by pool 'tank' of this daemon";
    assert_eq!(said(&wanted, &used, Overlap::Same), same);
    assert_eq!(said(&used, &wanted, Overlap::Same), same);
    assert!(said(&used, &used, Overlap::Same).is_empty(), "neither is to be taken");
    let part = said(&Named::wanted("/dev/sdb1"), &held("/dev/sdb", false), Overlap::On);
    assert!(
        part.starts_with("/dev/sdb1 (/dev/sdb1 lies on /dev/sdb): in use by pool 'tank'"),
        "{part}"
    );
    let lost = said(&Named::wanted("/dev/sdb"), &held("/dev/sdb", true), Overlap::Same);
    assert!(
        lost.starts_with("/dev/sdb: it is drive-2 of pool 'tank', which has lost it"),
        "{lost}"
    );
    let spare = said(&wanted, &Named::spare("/dev/disk/by-id/wwn-1", "tank"), Overlap::Same);
    assert_eq!(
        spare,
        "/dev/sdb (the same drive as /dev/disk/by-id/wwn-1) is a spare of pool 'tank'"
    );
    let over =
        said(&Named::wanted("/dev/loop0"), &Named::spare("file:/d/0.img", "tank"), Overlap::On);
    assert_eq!(over, "/dev/loop0 (/dev/loop0 lies on file:/d/0.img) is a spare of pool 'tank'");
}

#[tokio::test]
async fn links_to_one_file_are_one_drive_and_other_files_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["0.img", "1.img"] {
        std::fs::write(path(name), []).unwrap();
    }
    std::os::unix::fs::symlink(path("0.img"), path("link")).unwrap();
    std::fs::hard_link(path("0.img"), path("hard")).unwrap();
    let named = |name: &str| Named::wanted(&format!("file:{},size=16MiB", path(name).display()));
    check_distinct(vec![
        named("0.img"),
        named("1.img"),
        named("not-there"),
        Named::wanted("mem:16MiB"),
    ])
    .await
    .unwrap();
    for other in ["link", "hard"] {
        let error =
            check_distinct(vec![named("1.img"), named("0.img"), named(other)]).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::SameDrive);
        assert!(error.detail.contains("0.img and") && error.detail.contains(other), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_still_to_be_made_is_one_drive_however_it_is_spelt() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("deeper")).unwrap();
    let named =
        |name: &str| Named::wanted(&format!("file:{}/{name},size=16MiB", dir.path().display()));
    check_distinct(vec![named("0.img"), named("1.img"), named("deeper/0.img")]).await.unwrap();
    for other in ["0.img", "./0.img", "deeper/../0.img"] {
        let error = check_distinct(vec![named("0.img"), named(other)]).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::SameDrive);
        assert!(
            error.detail.contains(&format!("and file:{}/{other} are", dir.path().display())),
            "{error}"
        );
    }
}
