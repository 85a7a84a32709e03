use clap::Parser;

use super::*;
use crate::args::Arguments;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn error(line: &str) -> clap::Error {
    with_tip::<Arguments>(
        Arguments::try_parse_from(words(line)).expect_err("it is wrong"),
        &words(line),
    )
}

#[test]
fn a_command_line_that_is_wrong_is_json_for_whoever_has_asked_for_that() {
    let printed = in_json(&error("ashlar pool list --output json --frobnicate"));
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["error"], "unexpected argument '--frobnicate' found");
    assert_eq!(printed["code"], "usage");
    assert!(
        printed["hint"].as_str().expect("a text").contains("Usage: ashlar pool list"),
        "{printed}"
    );
    let printed = in_json(&error("ashlar pool show"));
    assert!(printed.contains("were not provided: <POOL>\""), "{printed}");
    assert!(
        asks_for_json(&words("ashlar x --output json"))
            && asks_for_json(&words("ashlar --output=json"))
    );
    assert!(!asks_for_json(&words("ashlar --output table json")));
}

#[test]
fn a_setting_that_is_written_as_an_option_is_shown_as_it_is_to_be_written() {
    for line in ["ashlar pool set tank --recon-prio 10", "ashlar pool set tank --recon-prio=10"] {
        let said = error(line).render().to_string();
        assert!(said.contains("ashlar pool set POOL recon-prio=10"), "{said}");
    }
    let said = error("ashlar pool set tank --recon-prio").render().to_string();
    assert!(said.contains("recon-prio=VALUE"), "{said}");
    assert!(
        !error("ashlar pool set tank --frobnicate 10").render().to_string().contains("no dashes")
    );
}

#[test]
fn who_looks_for_the_benchmark_is_told_its_program() {
    let said = error("ashlar bench --only parity").render().to_string();
    assert!(
        said.contains("unrecognized subcommand 'bench'") && said.contains("ashlar-bench"),
        "{said}"
    );
    assert!(!error("ashlar frobnicate").render().to_string().contains("ashlar-bench"));
}
