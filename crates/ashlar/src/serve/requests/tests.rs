use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn any_and_none_stand_alone() {
    assert_eq!(access(&names(&["any"])).unwrap(), AccessList::AllowAny);
    assert_eq!(access(&names(&["none"])).unwrap(), AccessList::Allow(BTreeSet::new()));
    assert_eq!(access(&[]).unwrap(), AccessList::Allow(BTreeSet::new()));
    assert!(access(&names(&["any", "nqn.2014-08.org.example:a"])).is_err());
}

#[test]
fn what_is_no_nqn_is_named() {
    let error = allow(&names(&["iqn.1998-01.com.example"])).unwrap_err();
    assert!(error.body.message.contains("iqn.1998-01.com.example"), "{error}");
}

#[test]
fn deny_takes_all_and_allow_takes_any() {
    assert_eq!(deny(&names(&["all"])).unwrap(), AccessChange::DenyAll);
    assert_eq!(allow(&names(&["any"])).unwrap(), AccessChange::AllowAny);
    assert!(deny(&names(&["any"])).is_err());
    assert!(allow(&names(&["all"])).is_err());
}

#[test]
fn a_directory_stands_for_the_files_in_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("1.img"), "").unwrap();
    fs::write(directory.path().join("0.img"), "").unwrap();
    fs::create_dir(directory.path().join("below")).unwrap();
    let named = names(&[directory.path().to_str().unwrap(), "/dev/nvme9n1"]);
    let (drives, looked) = expand_directories(&named).unwrap();
    let file = |name| format!("file:{}", directory.path().join(name).display());
    assert_eq!((drives, looked), (vec![file("0.img"), file("1.img"), "/dev/nvme9n1".to_owned()], true));
}

#[test]
fn a_relative_directory_is_not_looked_for_where_the_daemon_runs() {
    let named = names(&["src"]);
    assert_eq!(expand_directories(&named).unwrap(), (named, false));
}
