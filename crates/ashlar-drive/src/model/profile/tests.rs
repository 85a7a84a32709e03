use super::*;

#[test]
fn each_class_has_a_profile_that_could_be_a_drive() {
    for (name, _) in NAMED {
        let model = ModelName::parse(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(model.to_string(), name);
        assert_eq!(model.profile().unwrap().what_is_zero(), None, "{name}");
    }
    assert_eq!(ModelName::parse("nvme-gen9"), None);
}

#[test]
fn a_file_that_is_no_profile_is_named_with_what_is_wrong_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("slow.toml");
    let read = || ModelName::parse(path.to_str().unwrap()).unwrap().profile();
    let missing = read().unwrap_err();
    assert!(missing.to_string().contains("slow.toml"), "{missing}");
    fs::write(&path, "parallel = 1\ncolour = 'red'\n").unwrap();
    let unknown = read().unwrap_err();
    let cause = std::error::Error::source(&unknown).unwrap().to_string();
    assert!(cause.contains("colour"), "{unknown}: {cause}");
    let (_, good) = NAMED[0];
    fs::write(&path, good.replace("parallel = 128", "parallel = 0")).unwrap();
    let zero = read().unwrap_err();
    assert!(zero.to_string().contains("parallel must be more than zero"), "{zero}");
    fs::write(&path, good.replace("read-us = 70", "read-us = 7000")).unwrap();
    assert_eq!(read().unwrap().read_us, 7000);
}
