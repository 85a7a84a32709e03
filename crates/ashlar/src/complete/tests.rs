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
}
