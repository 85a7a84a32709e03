use clap::ValueEnum;

use super::*;

#[test]
fn each_shell_has_a_script_that_asks_this_program() {
    for shell in Shell::value_variants() {
        let script = script(*shell);
        assert!(script.contains("ashlar") && script.contains(VARIABLE), "{shell}: {script}");
    }
}

#[test]
fn whatever_names_a_pool_or_a_volume_is_offered_those_that_there_are() {
    let command = command();
    let group = |name: &str| command.find_subcommand(name).expect("it is there");
    let offers = |group: &Command, verb: &str, argument: &str| {
        let verb = group.find_subcommand(verb).expect("it is there");
        let mut arguments = verb.get_arguments();
        let argument = arguments.find(|it| it.get_id() == argument).expect("it is there");
        argument.get::<ArgValueCandidates>().is_some()
    };
    assert!(offers(group("pool"), "show", "pool"));
    assert!(offers(group("volume"), "resize", "volume"));
    assert!(offers(group("drive"), "fail", "drive"));
    assert!(offers(group("job"), "wait", "job"));
    assert!(!offers(group("volume"), "create", "volume"), "it is a new name");
    assert!(!offers(group("pool"), "add-drive", "drive"), "it is a path");
    assert!(offers(group("pool"), "remove-drive", "drive"));
    assert!(offers(group("pool"), "replace", "drive"));
    assert!(!offers(group("pool"), "replace", "with"), "it is a path");
    let spare = group("pool").find_subcommand("spare").expect("it is there");
    assert!(offers(spare, "remove", "drive"));
    assert!(!offers(spare, "add", "drive"), "it is a path");
}

#[test]
fn the_daemon_that_the_command_is_for_is_asked_and_no_other() {
    let of = |line: &str, variables: &[(&str, &str)]| {
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        door(&line, |name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        })
    };
    let at = |path: &str| Some(Some(PathBuf::from(path)));
    assert_eq!(of("ashlar pool show", &[]), Some(None), "the usual sockets");
    assert_eq!(of("ashlar pool show", &[("ASHLAR_SOCKET", "/a")]), at("/a"));
    assert_eq!(of("ashlar --socket /b pool show", &[("ASHLAR_SOCKET", "/a")]), at("/b"));
    assert_eq!(of("ashlar pool show --socket=/b", &[("ASHLAR_PROFILE", "lab")]), at("/b"));
    assert_eq!(of("ashlar --profile lab pool show", &[("ASHLAR_SOCKET", "/a")]), None);
    assert_eq!(of("ashlar --server=https://h pool show", &[]), None);
    assert_eq!(of("ashlar pool show", &[("ASHLAR_PROFILE", "lab")]), None);
    assert_eq!(of("ashlar pool show", &[("ASHLAR_PROFILE", "")]), Some(None));
}
