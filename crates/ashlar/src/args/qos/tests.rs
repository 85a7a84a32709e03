use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    limits: LimitArguments,
}

/// `nan` was taken without a word, and nothing came of it.
#[test]
fn a_burst_that_is_no_number_or_out_of_bounds_is_refused_with_what_may_be_written() {
    let line = |burst: &str| Line::try_parse_from(["limit", "--burst-seconds", burst]);
    for burst in ["nan", "inf", "-1", "0", "3601", "soon"] {
        let said = line(burst).err().expect(burst).to_string();
        assert!(said.contains(burst) && said.contains("0.01 to 3600"), "{said}");
    }
    for (burst, expected) in [("0.01", 0.01), ("5", 5.0), ("3600", 3600.0)] {
        let taken = line(burst).expect("it is one").limits.burst_seconds;
        assert_eq!(taken, Some(expected));
    }
}
