//! What hosts are told of how much of a volume is in use: NUSE, which `nvme list` shows.

use ashlar_load::initiator::Namespace;

use crate::full_disk::{BLOCKS_PER_WRITE, connected, noise};
use crate::support::Place;

/// Identify Namespace: its number, and where NSZE and NUSE are.
const IDENTIFY_NAMESPACE: u8 = 0;
const SIZE_OFFSET: usize = 0;
const USED_OFFSET: usize = 16;
const WRITES: u64 = 20;

/// Blocks of the volume, and those that are in use.
async fn blocks(namespace: &Namespace) -> (u64, u64) {
    let identified = namespace.controller().identify(IDENTIFY_NAMESPACE, namespace.nsid()).await;
    let data = identified.expect("it is there");
    let field = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().expect("eight bytes"));
    (field(SIZE_OFFSET), field(USED_OFFSET))
}

/// Returns once so many are: the daemon counts once a second.
async fn await_used(namespace: &Namespace, wanted: u64) {
    while blocks(namespace).await.1 != wanted {
        ashlar_reactor::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[test]
fn what_is_in_use_grows_with_writes_and_shrinks_with_deallocation() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB", "--allow", "any"]);
    connected(&place, |namespace| async move {
        let size = (16 << 20) / u64::from(namespace.lba_bytes());
        assert_eq!(blocks(&namespace).await, (size, 0), "thin: none of it is in use");
        for nth in 0..WRITES {
            namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await.expect("there is room");
        }
        await_used(&namespace, WRITES * BLOCKS_PER_WRITE).await;
        namespace.write(0, noise(WRITES)).await.expect("there is room");
        let half = WRITES / 2 * BLOCKS_PER_WRITE;
        namespace.deallocate(std::slice::from_ref(&(0..half))).await.expect("it is there");
        await_used(&namespace, half).await;
        namespace.write_zeroes(half, half as u32, true).await.expect("it is there");
        await_used(&namespace, 0).await;
    });
}
