use super::*;

fn load(direction: Direction, bytes: u32, connections: u16, depth: u32) -> Load {
    Load::new(direction, bytes, connections, depth)
}

#[test]
fn a_figure_on_the_bound_meets_it_unless_it_has_to_be_below() {
    let met = |target, figure| Verdict::new(target, "", figure).met;
    assert_eq!(
        [0.75, 0.74].map(|figure| met(Target::ECHO_RATE, figure)),
        [Some(true), Some(false)]
    );
    assert_eq!(
        [1.1, 1.11].map(|figure| met(Target::ECHO_LATENCY, figure)),
        [Some(true), Some(false)]
    );
    assert_eq!(
        [0.99, 1.0].map(|figure| met(Target::IDLE_PROCESSOR, figure)),
        [Some(true), Some(false)]
    );
    assert_eq!(met(Target::TWO_REACTORS, 0.6), None);
}

#[test]
fn what_was_not_measured_is_neither_met_nor_missed() {
    let verdict = Verdict::new(Target::RECOVERY, "", None);
    assert_eq!((verdict.met, verdict.word()), (None, "not measured"));
}

#[test]
fn what_rounds_do_not_agree_on_is_undecided() {
    let verdict = |low, high| {
        let ratio = Ratio { median: 0.8, low, high };
        Verdict::of_ratio(Target::ECHO_RATE, "", Some(ratio))
    };
    assert_eq!((verdict(0.76, 0.9).met, verdict(0.76, 0.9).word()), (Some(true), "met"));
    assert_eq!((verdict(0.7, 0.9).met, verdict(0.7, 0.9).word()), (None, "undecided"));
    let of_two = summary(&[verdict(0.76, 0.9), verdict(0.7, 0.9)]);
    assert!(of_two.contains("met by 1 of 2, others undecided"), "{of_two}");
}

#[test]
fn a_polling_target_is_known_by_its_loads_on_one_connection() {
    assert_eq!(polling_null(&load(Direction::Write, 4 << 10, 1, 32)), Some(689e3));
    assert_eq!(polling_null(&load(Direction::Write, 4 << 10, 4, 32)), None);
    assert_eq!(polling_memory(&load(Direction::Read, 4 << 10, 1, 128)), Some(444e3));
    assert_eq!(polling_memory(&load(Direction::Read, 4 << 10, 1, 32)), None);
}

#[test]
fn the_summary_has_a_line_for_each_target_with_its_worst_figure() {
    let verdicts = [
        Verdict::new(Target::STORE_COST, "reads", 1.2),
        Verdict::new(Target::ECHO_RATE, "reads", 0.9),
        Verdict::new(Target::STORE_COST, "writes", 1.8),
        Verdict::new(Target::ECHO_RATE, "writes", 0.8),
    ];
    let summary = summary(&verdicts);
    let lines: Vec<Vec<&str>> =
        summary.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 3, "{summary}");
    assert_eq!((lines[1][0], &lines[1][lines[1].len() - 2..]), ("wire", &["0.80", "met"][..]));
    assert_eq!(
        (lines[2][0], &lines[2][lines[2].len() - 6..]),
        ("store", &["1.80", "MISSED", "by", "1", "of", "2"][..])
    );
}
