//! Drives that are to be taken: which are refused, which are kept, and which are not waited for.

use std::time::Duration;

use ashlar_block::{Device, DriveId, DriveUuid, Durability};
use ashlar_drive::Drive;
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{AddError, OpenPolicy, write_superblock};
use ashlar_volume::{Dispatcher, NodeError, ReactorIndex, read_superblock};

use crate::node::pattern;
use crate::support::{Handles, drive, drives, faults_here, node, pool, with_drive, with_faults};

/// A drive that comes to a pool.
const NEW: &str = "mem:128MiB#new";

#[test]
fn a_drive_that_holds_something_is_not_taken_unasked() {
    let (node, _handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        let taken = node.create_pool(pool("other"), drives("a", 3), false).await.unwrap_err();
        assert!(matches!(taken, NodeError::DriveOfPool { .. }), "{taken}");
        node.close_pool("tank").await.unwrap();
        let held = node.create_pool(pool("other"), drives("a", 3), false).await.unwrap_err();
        assert!(held.to_string().contains("the Ashlar pool 'tank'"), "{held}");
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
        node.destroy_pool("tank").await.unwrap();
        // What is left is not a pool's label any more, but not nothing either.
        node.create_pool(pool("other"), drives("a", 3), true).await.unwrap();
    });
}

/// It was taken for one that was not added, and a file that had been made for it was removed.
#[test]
fn a_drive_that_may_be_a_member_is_kept_although_the_pool_cannot_be_written() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for spec in &drives("a", 2) {
            with_faults(&handles, spec, |faults| faults.fail_writes(0..u64::MAX, 5)).await;
        }
        let error = node.add_drive("tank", NEW.to_owned(), false).await.unwrap_err();
        let is_unsettled = matches!(
            error,
            NodeError::AddDrive { error: AddError::Unsettled { drive: DriveId(3), .. }, .. }
        );
        assert!(is_unsettled, "{error}");
        let shown = node.inspect_drive(NEW.to_owned()).await.unwrap_err();
        assert!(matches!(shown, NodeError::DriveOfPool { .. }), "{shown}");
    });
}

/// Gives a drive the label of another as one that the pool does not know.
async fn label_as_unknown(handles: &Handles, of: &str, spec: &str, drive: u16) {
    let known =
        with_drive(handles, of, |of| async move { read_superblock(&of).await.unwrap() }).await;
    let drive_uuid = DriveUuid([drive as u8; 16]);
    let unknown =
        Superblock { drive: DriveId(drive), drive_uuid, member_count: drive + 1, ..known };
    let label = move |drive| async move { write_superblock(&drive, &unknown).await.unwrap() };
    with_drive(handles, spec, label).await;
}

/// It was kept open and shown nowhere, and refused as one that was in use.
#[test]
fn a_drive_whose_adding_was_interrupted_is_let_go_of_and_can_be_added() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.close_pool("tank").await.unwrap();
        let more = [NEW, "mem:128MiB#other"];
        for (spec, drive) in more.into_iter().zip(3..) {
            label_as_unknown(&handles, &drives("a", 3)[0], spec, drive).await;
        }
        // Of a drive that has had a root, another line of the pool may know more.
        let root = |drive: Drive| async move {
            let written =
                drive.write(Superblock::root_offset(0), pattern(4096, 3), Durability::Stable);
            written.await.unwrap();
        };
        with_drive(&handles, more[1], root).await;
        let all = [drives("a", 3), more.map(str::to_owned).to_vec()].concat();
        let record = node.open_pool(None, all, OpenPolicy::Whole, Vec::new()).await.unwrap();
        assert_eq!(record.drives.len(), 3, "{record:?}");
        let notes = node.report("tank").await.unwrap().notes.join("; ");
        for spec in more {
            assert!(notes.contains(&format!("{spec} carries a label as drive")), "{notes}");
            node.inspect_drive(spec.to_owned()).await.unwrap();
        }
        node.add_drive("tank", NEW.to_owned(), false).await.unwrap();
        assert_eq!(node.report("tank").await.unwrap().drives.len(), 4);
        let held = node.add_drive("tank", more[1].to_owned(), false).await.unwrap_err();
        assert!(matches!(held, NodeError::Holds { .. }), "{held}");
    });
}

/// Waits until each of the drives, which hang, is asked for something at the same time.
async fn wait_until_held(handles: Handles, specs: Vec<String>) {
    let all_are_held = || {
        let specs = specs.clone();
        handles.call(ReactorIndex(0), move |_| async move {
            specs.iter().all(|spec| faults_here(spec).held() > 0)
        })
    };
    while !all_are_held().await.expect("it runs") {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Whatever else was to change in the daemon waited for them.
#[test]
fn drives_that_hang_are_not_waited_for_for_ever_whatever_they_are_wanted_for() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for spec in &drives("h", 7) {
            node.inspect_drive(spec.clone()).await.unwrap();
            with_faults(&handles, spec, |faults| faults.stall()).await;
        }
        let [shown, cleared, spare, added] =
            [3, 4, 5, 6].map(|index| drives("h", 7)[index].clone());
        let side_by_side = spawn_joined(wait_until_held(handles.clone(), drives("h", 7)));
        let told = futures_util::future::join5(
            async { node.create_pool(pool("other"), drives("h", 3), true).await.unwrap_err() },
            async { node.inspect_drive(shown).await.unwrap_err() },
            async { node.clear_label(cleared, true).await.unwrap_err() },
            async { node.prepare_spare("tank", spare, false).await.unwrap_err() },
            async { node.add_drive("tank", added, true).await.unwrap_err() },
        )
        .await;
        for error in [told.0, told.1, told.2, told.3, told.4] {
            let said = error.to_string();
            assert!(said.starts_with("mem:128MiB#h") && said.contains("answered"), "{said}");
        }
        assert!(side_by_side.is_finished(), "they are asked one after the other");
    });
}
