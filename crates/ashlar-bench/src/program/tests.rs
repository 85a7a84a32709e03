use super::*;

#[test]
fn the_program_is_the_one_that_is_named_or_lies_beside_this_one() {
    let beside = std::env::current_exe().unwrap().with_file_name("ashlar");
    assert_eq!(Program::find(None).unwrap(), Program(beside));
    assert_eq!(Program::find(Some(Path::new("/a/b"))).unwrap(), Program("/a/b".into()));
    let here = std::env::current_dir().unwrap().join("ashlar");
    assert_eq!(Program::find(Some(Path::new("ashlar"))).unwrap(), Program(here));
}

#[test]
fn a_program_that_is_missing_or_another_one_is_refused_with_the_way_out() {
    let missing = Program("/nowhere/ashlar".into()).check().unwrap_err().to_string();
    assert!(
        missing.contains("cannot run /nowhere/ashlar") && missing.contains("No such file"),
        "{missing}"
    );
    let another = Program("/bin/true".into()).check().unwrap_err().to_string();
    assert!(another.contains("/bin/true is not the program ashlar"), "{another}");
    assert!([missing, another].iter().all(|said| said.contains("--ashlar FILE")));
}
