//! A host that connects, writes and reads each block of the first MiB of namespace 1, and goes: for
//! tests that want to see what the target counts.
//!
//! usage: one_host ADDRESS:PORT SUBSYSTEM-NQN HOST-NQN

use std::error::Error;

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};
use bytes::Bytes;

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 256;

async fn visit(options: ConnectOptions) -> Result<(), Box<dyn Error>> {
    let controller = Controller::connect(options).await?;
    let namespace = controller.namespace(1).await?;
    for block in 0..BLOCKS {
        namespace.write(block, Bytes::from(vec![block as u8 | 1; BLOCK_BYTES])).await?;
        namespace.read(block, 1).await?;
    }
    controller.disconnect().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, subsystem, host] = &arguments[..] else {
        return Err("usage: one_host ADDRESS:PORT SUBSYSTEM-NQN HOST-NQN".into());
    };
    let host = HostIdentity { nqn: host.clone(), id: [7; 16] };
    let options =
        ConnectOptions { io_queues: 1, ..ConnectOptions::new(address.parse()?, subsystem, host) };
    ashlar_reactor::run(ashlar_reactor::Config::default(), visit(options))?
}
