use super::*;

fn why(spec: &str) -> String {
    explain(spec, None).why
}

#[test]
fn what_is_in_a_members_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let spec = format!("file:{},size=16MiB", path.display());
    assert_eq!(why(&spec), format!("{}: there is no such file", path.display()));
    assert_eq!(why("/dev/no-such-drive"), "/dev/no-such-drive: there is no such device");
    fs::write(&path, vec![0; 16 << 20]).unwrap();
    assert_eq!(why(&spec), format!("file:{} holds nothing", path.display()));
    fs::write(&path, vec![7; 16 << 20]).unwrap();
    assert_eq!(why(&spec), format!("file:{} holds data of an unknown kind", path.display()));
    let mut damaged = vec![0; 16 << 20];
    damaged[..8].copy_from_slice(b"ASHLARSB");
    fs::write(&path, damaged).unwrap();
    assert!(why(&spec).contains("the Ashlar superblock is damaged"), "{}", why(&spec));
    fs::write(&path, []).unwrap();
    assert_eq!(why(&spec), format!("file:{} holds nothing: it has no size", path.display()));
}

#[test]
fn what_was_looked_at_and_has_not_changed_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let spec = format!("file:{}", path.display());
    fs::write(&path, vec![7; 16 << 20]).unwrap();
    let known = Missed { why: "as it was".to_owned(), ..explain(&spec, None) };
    assert_eq!(explain(&spec, Some(known.clone())), known);
    fs::write(&path, vec![0; 32 << 20]).unwrap();
    assert_eq!(explain(&spec, Some(known.clone())).label, None);
    assert!(explain(&spec, Some(known.clone())).why.contains("holds nothing"));
    fs::remove_file(&path).unwrap();
    assert!(explain(&spec, Some(known)).why.contains("no such file"));
}
