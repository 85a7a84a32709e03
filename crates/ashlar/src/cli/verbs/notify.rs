//! Webhooks and mail.

use ashlar_control::types::{Receiver, ReceiverTest};
use hyper::Method;

use super::{print, segment};
use crate::args::{NotifyCommand, Output};
use crate::cli::client::Client;
use crate::cli::tables;

pub(super) async fn run(
    client: &Client,
    command: NotifyCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        NotifyCommand::List => {
            let receivers: Vec<Receiver> = client.get("/receivers").await?;
            print(output, &receivers, |receivers| tables::receivers(receivers))
        }
        NotifyCommand::Test { name } => {
            let path = format!("/receivers/{}/test", segment(&name)?);
            let tested: ReceiverTest = client.ask(Method::POST, &path).await?;
            let said = |ReceiverTest { name, answer }: &ReceiverTest| {
                format!("'{name}' has taken the test: {answer}")
            };
            print(output, &tested, said)
        }
    }
}
