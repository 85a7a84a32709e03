use ashlar_control::types::{PoolJobs, ScrubbedDrive};

use super::*;

fn scrubbed(scrub: Scrub) -> anyhow::Result<()> {
    let jobs = PoolJobs { scrub: Some(scrub), ..PoolJobs::default() };
    is_all_right(&Pool { name: "tank".to_owned(), jobs: Some(jobs), ..Pool::default() })
}

#[test]
fn a_scrub_that_cost_a_drive_is_an_error_although_all_is_repaired() {
    let drive = |name: &str, given_up: Option<&str>| ScrubbedDrive {
        name: name.to_owned(),
        given_up: given_up.map(str::to_owned),
        ..ScrubbedDrive::default()
    };
    let found = |drives| Scrub { repaired: 10, drives, ..Scrub::default() };
    assert!(scrubbed(found(vec![drive("drive-1", None)])).is_ok());
    let said =
        scrubbed(found(vec![drive("drive-1", None), drive("drive-2", Some("gave wrong bytes"))]));
    let said = said.expect_err("a drive is lost").to_string();
    assert!(
        said.contains("drive-2 had too many faults") && said.contains("pool replace"),
        "{said}"
    );
    assert!(!said.contains("drive-1"), "{said}");
}

#[test]
fn what_could_not_be_repaired_goes_before() {
    let said =
        scrubbed(Scrub { unrepaired: 3, ..Scrub::default() }).expect_err("it is wrong still");
    assert!(said.to_string().contains("could not repair 3 sectors"), "{said}");
    assert!(scrubbed(Scrub::default()).is_ok());
    assert!(is_all_right(&Pool::default()).is_ok());
}
