use super::*;

/// A process with two threads of one name and one of another, whose name is as bad as it may be.
#[test]
fn threads_of_one_name_are_counted_together() {
    let root = tempfile::tempdir().unwrap();
    let stat = |name: &str, user: u64, system: u64| {
        format!("7 ({name}) S 1 7 7 0 -1 4194304 1 0 0 0 {user} {system} 0 0 20 0 3 0 100 0 0")
    };
    for (task, text) in [
        ("7", stat("ashlar", 100, 50)),
        ("8", stat("reactor 0) (x", 250, 50)),
        ("9", stat("ashlar", 25, 25)),
        ("10", "torn".to_owned()),
    ] {
        let task = root.path().join("task").join(task);
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("stat"), text).unwrap();
    }
    fs::write(root.path().join("statm"), "1000 10 5 1 0 9 0").unwrap();
    let figures = of(root.path(), 100, 4096);
    let threads: Vec<_> =
        figures.threads.iter().map(|thread| (&*thread.name, thread.cpu_seconds)).collect();
    assert_eq!(threads, [("ashlar", 2.0), ("reactor 0) (x", 3.0)]);
    assert_eq!((figures.resident_bytes, figures.open_files), (Some(40960), None));
}

#[test]
fn this_process_is_known() {
    let figures = figures();
    assert!(figures.resident_bytes > Some(0) && figures.open_files > Some(0), "{figures:?}");
    assert!(!figures.threads.is_empty());
}
