//! A change is done as a whole or not at all.

use ashlar_store::Compression;
use ashlar_volume::qos::{Policy, VolumeQos};
use ashlar_volume::{AtomicWrites, QosChoice, Resize, VolumeChange};

use crate::support::{drive, drives, node, pool, renamed, resized, volume};

const MIB: u64 = 1 << 20;

#[test]
fn a_change_of_which_one_part_cannot_be_changes_nothing() {
    let (node, _handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for name in ["v0", "v1"] {
            let nsid = node.table().claim_new().unwrap();
            node.create_volume("tank", nsid, volume(name, 2 * MIB)).await.unwrap();
        }
        let shown = async || format!("{:?}", node.report("tank").await.unwrap().volumes);
        let before = shown().await;
        let all = VolumeChange {
            name: Some("v2".parse().unwrap()),
            size: Some(Resize { size_bytes: MIB, may_shrink: true }),
            compression: Some(Compression::None),
            write_protected: Some(false),
            atomic: Some(AtomicWrites::Off),
            qos: Some(QosChoice::Policy(VolumeQos::Own(Policy { weight: 7, ..Policy::default() }))),
        };
        let cannot_be = [
            VolumeChange { name: Some("v1".parse().unwrap()), ..all.clone() },
            VolumeChange { write_protected: Some(true), ..all.clone() },
            VolumeChange { atomic: Some(AtomicWrites::UpTo(1 << 30)), ..all.clone() },
            VolumeChange {
                qos: Some(QosChoice::Policy(VolumeQos::Named("none".to_owned()))),
                ..all.clone()
            },
            VolumeChange {
                size: Some(Resize { size_bytes: MIB, may_shrink: false }),
                ..all.clone()
            },
        ];
        for change in cannot_be {
            node.change_volume("tank", "v0".into(), change.clone()).await.unwrap_err();
            assert_eq!(shown().await, before, "{change:?}");
        }
        let after = node.change_volume("tank", "v0".into(), all).await.unwrap();
        assert_eq!((after.name.as_str(), after.size_bytes), ("v2", MIB));
        // Whoever gives all back that was read, with one part changed, names it as it is.
        let grown = VolumeChange { size: resized(4 * MIB).size, ..renamed("v2") };
        let grown = node.change_volume("tank", "v2".into(), grown).await.unwrap();
        assert_eq!((grown.name.as_str(), grown.size_bytes), ("v2", 4 * MIB));
    });
}
