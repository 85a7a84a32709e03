//! Proofs of the ledger of which the simulation waits for the end.

use std::time::Duration;

use ashlar_block::Clock;
use ashlar_store::VerifyState;

use crate::hosts::Run;
use crate::start::Pool;

impl Run {
    /// Proves the ledger, unless the pool takes no writes or its maps cannot be read.
    pub async fn verify(&self, pool: &Pool) -> Result<(), String> {
        if pool.start_verify().is_err() {
            return Ok(());
        }
        while pool.halted().is_none() {
            let report = pool.status().verify.expect("one was begun");
            match report.state {
                VerifyState::Running => self.world.sleep(Duration::from_millis(10)).await,
                VerifyState::Proven | VerifyState::Failed(_) | VerifyState::Stopped => break,
                VerifyState::Wrong => {
                    return Err(format!("the ledger is wrong: {:?}", report.wrong));
                }
            }
        }
        Ok(())
    }
}
