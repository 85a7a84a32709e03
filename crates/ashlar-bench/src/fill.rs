//! Writing a volume before it is read: holes would be nothing.

use std::rc::Rc;

use anyhow::anyhow;
use ashlar_load::initiator::{CommandError, Controller, Namespace};
use ashlar_load::load::Content;
use ashlar_reactor::spawn_joined;

use super::interrupt;
use super::rounds::options;
use super::servers::Server;

/// Bytes of one write where everything is written.
pub const FILL_BYTES: u32 = 128 << 10;
/// Writes outstanding.
const DEPTH: u64 = 32;

/// Connects to the volume of `server`.
///
/// # Errors
/// What stood in the way.
pub async fn connect(server: &Server) -> anyhow::Result<(Controller, Namespace)> {
    let controller = Controller::connect(options(server, 0)).await;
    let controller = controller.map_err(|error| anyhow!("connecting: {error}"))?;
    let namespace = controller.namespace(server.nsid).await.map_err(|error| anyhow!("{error}"))?;
    Ok((controller, namespace))
}

/// Writes every block of the volume once.
///
/// # Errors
/// The write that failed.
pub async fn fill(server: &Server, content: Content) -> anyhow::Result<()> {
    let (controller, namespace) = connect(server).await?;
    let blocks_each = u64::from(FILL_BYTES / namespace.lba_bytes());
    let writes = namespace.blocks() / blocks_each;
    write_each(&namespace, content, FILL_BYTES, writes, move |write| write * blocks_each).await?;
    controller.disconnect().await;
    Ok(())
}

/// Does `count` writes of `bytes` each; write number *n* begins at the block `place(n)`.
///
/// # Errors
/// The write that failed.
pub async fn write_each(
    namespace: &Namespace,
    content: Content,
    bytes: u32,
    count: u64,
    place: impl Fn(u64) -> u64 + Clone + 'static,
) -> anyhow::Result<()> {
    let (namespace, data) = (namespace.clone(), content.bytes(bytes as usize));
    each(DEPTH, count, async move |write| namespace.write(place(write), data.clone()).await).await
}

/// Does `operation(0)` to `operation(count - 1)`, so many of them at a time.
///
/// # Errors
/// The first that failed, or a signal.
pub async fn each(
    depth: u64,
    count: u64,
    operation: impl AsyncFn(u64) -> Result<(), CommandError> + 'static,
) -> anyhow::Result<()> {
    let operation = Rc::new(operation);
    let worker = |first: u64| {
        let operation = operation.clone();
        spawn_joined(async move {
            for number in (first..count).step_by(depth as usize) {
                interrupt::check()?;
                let done = operation(number).await;
                done.map_err(|error| anyhow!("an operation on the volume failed: {error}"))?;
            }
            Ok(())
        })
    };
    let workers: Vec<_> = (0..depth).map(worker).collect();
    for worker in workers {
        let done: anyhow::Result<()> = worker.await;
        done?;
    }
    Ok(())
}
