use clap::CommandFactory;

use super::*;

/// What a terminal of the usual width has room for: clap breaks longer lines, of examples as well.
const COLUMNS: usize = 80;

#[test]
fn the_help_has_examples_and_none_of_their_lines_is_broken() {
    let help = Arguments::command().get_after_help().expect("examples").to_string();
    let long = help.lines().find(|line| line.chars().count() > COLUMNS);
    assert!(help.contains("ashlar-bench --only") && long.is_none(), "{long:?}");
}
