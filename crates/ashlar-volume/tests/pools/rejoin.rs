//! Drives that come back to a pool, and do not get there at the first try.

use std::time::Duration;

use crate::support::{
    Handles, TestNode, cut_drive, drive, drives, hold_drive, node, pool, volume, with_faults,
};
use ashlar_block::DriveId;
use ashlar_reactor::sleep;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{Activity, AddError, DriveCondition, OpenPolicy, RejoinError};
use ashlar_volume::{DriveReport, NodeError};

/// Pause between two looks at what upkeep does, and how many have to find the same before it is at
/// rest: it does nothing for a moment between two things, too.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
const LOOKS_AT_REST: u32 = 50;
/// Looks: only what never comes takes so many.
const LOOKS_MAX: u32 = 60_000;

async fn fail_writes(handles: &Handles, spec: &str, from: u64) {
    with_faults(handles, spec, move |faults| faults.fail_writes(from..u64::MAX, 5)).await;
}

/// Waits until nothing of the drive is to be restored any more, and no checkpoint is under way or
/// about to be.
async fn await_release(node: &TestNode, index: usize) {
    let (mut looks, mut seen) = (0, None);
    for _ in 0..LOOKS_MAX {
        let status = node.report("tank").await.expect("it is open").status;
        let is_released = status.drives[index].condition == DriveCondition::Released;
        let now = Some(status.counters.jobs.checkpoints);
        let is_at_rest = is_released && status.activity == Activity::Rest && now == seen;
        (looks, seen) = (if is_at_rest { looks + 1 } else { 0 }, now);
        if looks == LOOKS_AT_REST {
            return;
        }
        sleep(LOOK_INTERVAL).await;
    }
    panic!("the drive is not released");
}

/// It was known to nobody, and yet open: the pool that was opened anew could not have it.
#[test]
fn a_drive_that_was_coming_back_when_the_pool_halted_is_known_and_can_be_taken_anew() {
    let (node, handles) = node(1);
    drive(async move {
        let all = drives("a", 4);
        node.create_pool(pool("tank"), all.clone(), false).await.unwrap();
        node.fail_drive("tank", "1".to_owned(), false).await.unwrap();
        // Else one of the checkpoints that settle and release what it held might halt the pool
        // before the drive is back.
        await_release(&node, 1).await;
        for spec in [&all[0], &all[2]] {
            fail_writes(&handles, spec, 0).await;
        }
        let error = node.return_drive("tank", "1".to_owned(), None, |_| None).await.unwrap_err();
        let why = matches!(
            error,
            NodeError::ReturnDrive(RejoinError::Add(AddError::Unsettled { drive: DriveId(4), .. }))
        );
        assert!(why, "{error}");
        let shown = node.inspect_drive(all[1].clone()).await.unwrap_err();
        assert!(matches!(shown, NodeError::DriveOfPool { .. }), "{shown}");
        for spec in [&all[0], &all[2]] {
            with_faults(&handles, spec, |faults| faults.heal()).await;
        }
        node.reopen_pool("tank", "0", all.clone()).await.expect("no more than one is missing");
        let notes = node.report("tank").await.unwrap().notes.join("; ");
        assert!(notes.contains(&format!("{} carries a label as drive", all[1])), "{notes}");
        node.clear_label(all[1].clone(), false).await.unwrap();
        node.add_drive("tank", all[1].clone(), false).await.expect("it is empty");
    });
}

/// With its new identity on one of two places it was another drive to the pool, for ever.
#[test]
fn a_drive_that_could_not_be_given_its_new_identity_comes_back_at_the_next_try() {
    let (node, handles) = node(1);
    drive(async move {
        let all = drives("a", 4);
        node.create_pool(pool("tank"), all.clone(), false).await.unwrap();
        node.fail_drive("tank", "1".to_owned(), false).await.unwrap();
        let refused = node.return_drive("tank", "0".to_owned(), None, |_| None).await.unwrap_err();
        assert!(
            refused.to_string().starts_with("tank/drive-0 works: the pool has not lost it"),
            "{refused}"
        );
        let range = Superblock::FIRST_OFFSET..Superblock::FIRST_OFFSET + 4096;
        with_faults(&handles, &all[1], |faults| faults.fail_next_write(range, 5)).await;
        let place = || Some(all[1].clone());
        let error = node.return_drive("tank", "1".to_owned(), place(), |_| None).await.unwrap_err();
        let is_refused =
            matches!(error, NodeError::ReturnDrive(RejoinError::Add(AddError::Drive(_))));
        assert!(is_refused, "{error}");
        node.return_drive("tank", "1".to_owned(), place(), |_| None)
            .await
            .expect("it can be written now");
        let online = |drive: &DriveReport| drive.status.condition == DriveCondition::Online;
        let report = node.report("tank").await.unwrap();
        assert_eq!(
            report.drives.iter().filter(|drive| online(drive)).count(),
            4,
            "{:?}",
            report.drives
        );
    });
}

/// What was under way in the pool as it halted had its drives still open: the pool was closed, and
/// stayed so.
#[test]
fn a_pool_that_is_opened_again_waits_for_drives_that_its_old_self_has_not_let_go_of_yet() {
    let (node, handles) = node(1);
    drive(async move {
        let all = drives("a", 4);
        node.create_pool(pool("tank"), all.clone(), false).await.unwrap();
        for spec in &all[2..] {
            fail_writes(&handles, spec, 0).await;
        }
        let made = node
            .create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 1 << 20))
            .await;
        made.expect_err("two drives fail at once");
        assert!(node.report("tank").await.unwrap().status.halted.is_some());
        for spec in &all[2..] {
            with_faults(&handles, spec, |faults| faults.heal()).await;
        }
        // Without these there are too few; at the third look they are free.
        for spec in &all[..2] {
            hold_drive(&handles, spec, 2).await;
        }
        node.reopen_pool("tank", "2", all.clone()).await.expect("they are free in a moment");
        assert_eq!(node.report("tank").await.unwrap().status.halted, None);
    });
}

/// It was online, and what it had held beyond its end came to light one read after the other.
#[test]
fn a_drive_that_is_shorter_than_it_was_is_no_member_and_does_not_come_back() {
    let (node, handles) = node(1);
    drive(async move {
        let all = drives("a", 4);
        let uuid = node.create_pool(pool("tank"), all.clone(), false).await.unwrap().uuid;
        node.close_pool(&uuid.to_string()).await.unwrap();
        cut_drive(&handles, &all[1], 100 << 20).await;
        let open = |policy| node.open_pool(None, all.clone(), policy, Vec::new());
        let cut = format!("{} has 100MiB, but was 128MiB as drive-1 of pool 'tank'", all[1]);
        let refused = open(OpenPolicy::Whole).await.unwrap_err().to_string();
        assert!(refused.contains(&cut) && refused.contains("--degraded"), "{refused}");
        open(OpenPolicy::Degraded).await.expect("the others are enough");
        let report = node.report("tank").await.unwrap();
        // Whichever it is when one looks: little lives on it, and is restored on the others at
        // once.
        let lost = [DriveCondition::Absent, DriveCondition::Released];
        assert!(lost.contains(&report.drives[1].status.condition), "{:?}", report.drives[1]);
        assert!(report.notes.iter().any(|note| note.contains(&cut)), "{:?}", report.notes);
        let place = Some(all[1].clone());
        let refused = node
            .return_drive("tank", "1".to_owned(), place, |_| None)
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains(&cut) && refused.contains("ashlar pool replace"), "{refused}");
    });
}
