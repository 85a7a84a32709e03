//! Commands that take their turn before their data come, on their pool's reactor and on another.

use ashlar_block::latency::OpKind;
use ashlar_volume::{Door, VolumeIo};

use crate::support::{TestDoor, at_door, data, drive, drives, node, open, pool, volume};

const MIB: u64 = 1 << 20;
const LARGE: u64 = 64 << 10;

type Volume = <TestDoor as Door>::Volume;

/// Reads of both volumes, so that both are in use.
async fn use_both(door: &TestDoor) -> [Volume; 2] {
    let volumes = [open(door, 1), open(door, 2)];
    for volume in &volumes {
        volume.read(0, 4096).await.expect("it works");
    }
    volumes
}

#[test]
fn large_commands_take_their_turn_first_where_several_volumes_are_in_use() {
    let (node, handles) = node(2);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for name in ["v0", "v1"] {
            let nsid = node.table().claim_new().unwrap();
            node.create_volume("tank", nsid, volume(name, 8 * MIB)).await.unwrap();
        }
        for reactor in 0..2 {
            at_door(&handles, reactor, move |door| async move {
                let [volume, other] = use_both(&door).await;
                assert!(volume.needs_turn(OpKind::Write, LARGE));
                assert!(volume.needs_turn(OpKind::Read, LARGE));
                // What has come with its command, and what moves nothing.
                assert!(!volume.needs_turn(OpKind::Write, 16 << 10));
                assert!(!volume.needs_turn(OpKind::Trim, LARGE));
                // Some are given up once they have their turn, or before, and hold up nobody.
                for _ in 0..2000 {
                    open(&door, 1).take_turn(OpKind::Write, MIB).await;
                    drop(open(&door, 2).take_turn(OpKind::Write, MIB));
                }
                volume.take_turn(OpKind::Write, LARGE).await;
                let now = open(&door, 1);
                volume.hand_turn_to(&now);
                now.write(0, data().repeat(16).into()).await.expect("it works");
                // One of another volume is of no use.
                now.take_turn(OpKind::Write, LARGE).await;
                now.hand_turn_to(&other);
                other.write(0, data()).await.expect("it works");
                let read = now.read(0, LARGE as usize).await.expect("it works");
                assert!(read[..] == data().repeat(16));
            })
            .await;
        }
    });
}

#[test]
fn a_command_whose_volume_is_deleted_after_its_turn_has_come_is_told_so() {
    let (node, handles) = node(2);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for name in ["v0", "v1"] {
            let nsid = node.table().claim_new().unwrap();
            node.create_volume("tank", nsid, volume(name, 8 * MIB)).await.unwrap();
        }
        let deleting = node.clone();
        at_door(&handles, 1, move |door| async move {
            let [volume, _] = use_both(&door).await;
            volume.take_turn(OpKind::Write, LARGE).await;
            deleting.delete_volume("tank", "v0".to_owned()).await.unwrap();
            volume.write(0, data()).await.expect_err("it is gone");
        })
        .await;
    });
}
