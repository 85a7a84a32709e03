//! Which of the drives that were given are members, of which pool, and which members are late.

use std::collections::BTreeSet;

use ashlar_block::{Clock, Device, DriveUuid, PoolUuid, within};
use ashlar_store::format::root::MemberState;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{FoundDrive, OPEN_ANSWER_MAX, read_roots};
use futures_util::future::join_all;

use super::{Home, OpenRequest, PoolDrive};
use crate::bay::{BayDrive, DriveBay, DriveContent, inspect};
use crate::error::NodeError;

/// Pause between two looks whether a late drive has come.
const LATE_POLL: std::time::Duration = std::time::Duration::from_millis(100);

/// A drive that is a member of a pool.
pub(super) struct FoundMember<D> {
    superblock: Superblock,
    drive: BayDrive<D>,
}

impl<D: Clone> FoundMember<D> {
    pub(super) fn new(superblock: Superblock, drive: BayDrive<D>) -> Self {
        FoundMember { superblock, drive }
    }

    /// As the store takes it, and as it is kept here.
    pub(super) fn split(self) -> (FoundDrive<D>, PoolDrive<D>) {
        let FoundMember { superblock, drive } = self;
        let (id, uuid, pool_bytes) = (superblock.drive, superblock.drive_uuid, superblock.drive_bytes);
        let device = drive.device.clone();
        (FoundDrive { superblock, device }, PoolDrive { id, uuid, drive, pool_bytes })
    }
}

/// A drive that is no member of any pool.
pub(super) struct NoMember {
    pub(super) spec: String,
    /// What it is instead, as a sentence that names it.
    pub(super) why: String,
}

/// What was found on the drives that were given.
pub(super) struct Found<D> {
    members: Vec<FoundMember<D>>,
    others: Vec<NoMember>,
}

/// The members of one pool.
pub(super) struct FoundPool<D> {
    pub(super) uuid: PoolUuid,
    pub(super) name: String,
    pub(super) members: Vec<FoundMember<D>>,
    /// Other drives that were given.
    pub(super) others: Vec<NoMember>,
    /// Why further ones are no members; there is nothing to say of them if they are not missed.
    pub(super) left_out: Vec<String>,
}

impl<B: DriveBay> Home<B> {
    /// The members of the pool that is asked for. Those that its newest root counts on are waited for.
    pub(super) async fn find_pool(&self, request: &OpenRequest) -> Result<FoundPool<B::Device>, NodeError> {
        let wanted = request.pool.as_deref();
        let mut found = self.find_members(&request.drives).await;
        found.let_go_of_others(wanted);
        let start = self.world.now();
        let mut said = false;
        while !found.others.is_empty() && self.world.now().since(start) < request.member_wait {
            let late = found.late(&self.world, wanted).await;
            if late.is_empty() {
                break;
            }
            if !std::mem::replace(&mut said, true) {
                tracing::warn!(pool = wanted, "drives are late and waited for: {}", late.join("; "));
            }
            self.world.sleep(LATE_POLL).await;
            let again: Vec<String> = found.others.drain(..).map(|other| other.spec).collect();
            let mut more = self.find_members(&again).await;
            more.let_go_of_others(wanted);
            found.members.extend(more.members);
            found.others = more.others;
        }
        found.choose_pool(wanted, request.left_out.clone())
    }

    pub(super) async fn find_members(&self, specs: &[String]) -> Found<B::Device> {
        let mut found = Found { members: Vec::new(), others: Vec::new() };
        let looks = specs.iter().map(|spec| self.find_member(spec));
        for (spec, looked) in specs.iter().zip(join_all(looks).await) {
            match looked {
                Ok(member) => found.members.push(member),
                Err(why) => found.others.push(NoMember { spec: spec.clone(), why }),
            }
        }
        found
    }

    /// The member that is there, unless it hangs: then the others are opened without it.
    async fn find_member(&self, spec: &String) -> Result<FoundMember<B::Device>, String> {
        let found = within(&self.world, OPEN_ANSWER_MAX, self.look_for_member(spec)).await;
        found.unwrap_or_else(|| Err(no_answer(spec)))
    }

    async fn look_for_member(&self, spec: &String) -> Result<FoundMember<B::Device>, String> {
        let opened = self.open_for_pool(std::slice::from_ref(spec), false).await;
        let drive = opened.map_err(|error| error.to_string())?.remove(0);
        match inspect(&self.bay, &drive.device).await {
            Ok(DriveContent::Member(superblock)) => match drive.cut_short(&superblock) {
                None => Ok(FoundMember::new(*superblock, drive)),
                Some(cut) => Err(format!(
                    "{cut}: bring it back whole, or open the pool without it (--degraded) and replace it"
                )),
            },
            Ok(DriveContent::Damaged(error)) => Err(format!("{spec}: {error}")),
            Ok(other) => Err(format!("{spec} holds {}", other.describe())),
            Err(error) => Err(format!("{spec}: {error}")),
        }
    }
}

impl<D: Device + Clone> Found<D> {
    /// Whether there is no member at this place.
    pub(super) fn is_missing(&self, spec: &str) -> bool {
        self.others.iter().any(|other| other.spec == spec)
    }

    /// Those that are members of this pool.
    pub(super) fn members_of(&self, pool: PoolUuid) -> impl Iterator<Item = DriveUuid> {
        let members = self.members.iter().map(|member| &member.superblock);
        members.filter(move |superblock| superblock.pool == pool).map(|superblock| superblock.drive_uuid)
    }

    /// Those of other pools are not kept from these while members of this one are waited for.
    fn let_go_of_others(&mut self, wanted: Option<&str>) {
        let meant = self.pools(wanted);
        self.members.retain(|member| meant.iter().any(|(uuid, _)| *uuid == member.superblock.pool));
    }

    /// Why the others are none.
    pub(super) fn reasons(&self) -> Vec<String> {
        reasons(&self.others)
    }

    /// Why drives are not there that the pool counts on; none if it counts on nothing that is not there.
    async fn late(&self, clock: &impl Clock, wanted: Option<&str>) -> Vec<String> {
        let why = || self.reasons();
        let Some(uuid) = self.pools(wanted).first().map(|(uuid, _)| *uuid) else { return why() };
        let members = self.members.iter().filter(|member| member.superblock.pool == uuid);
        let there: BTreeSet<DriveUuid> = members.clone().map(|member| member.superblock.drive_uuid).collect();
        let roots = members.map(|member| {
            let roots = read_roots(&member.drive.device, uuid);
            within(clock, OPEN_ANSWER_MAX, roots)
        });
        let roots = join_all(roots).await.into_iter().flatten().flatten();
        let newest = roots.max_by_key(|root| root.generation);
        let counted_on = newest.iter().flat_map(|root| &root.members);
        let mut counted_on = counted_on.filter(|member| member.state == MemberState::Present);
        if counted_on.any(|member| !there.contains(&member.uuid)) { why() } else { Vec::new() }
    }

    /// The pools that the drives belong to, as far as they may be meant.
    fn pools(&self, wanted: Option<&str>) -> BTreeSet<(PoolUuid, String)> {
        let pools = self.members.iter().map(|member| &member.superblock);
        let pools = pools.map(|superblock| (superblock.pool, superblock.pool_name.clone()));
        let is_wanted = |(uuid, name): &(PoolUuid, String)| {
            wanted.is_none_or(|wanted| name == wanted || uuid.to_string() == wanted)
        };
        pools.filter(is_wanted).collect()
    }

    /// The pool that is meant, of those that the drives belong to.
    fn choose_pool(self, wanted: Option<&str>, left_out: Vec<String>) -> Result<FoundPool<D>, NodeError> {
        let mut meant: Vec<_> = self.pools(wanted).into_iter().collect();
        if meant.len() > 1 {
            let names = meant.iter().map(|(uuid, name)| format!("{name} {uuid}"));
            return Err(NodeError::SeveralPools(names.collect::<Vec<_>>().join(", ")));
        }
        let Some((uuid, name)) = meant.pop() else {
            let pool = wanted.map_or("a pool".to_owned(), |name| format!("pool '{name}'"));
            let reasons = [self.reasons(), left_out].concat();
            let why =
                if reasons.is_empty() { "they belong to other pools".to_owned() } else { reasons.join("; ") };
            return Err(NodeError::NoMembers { pool, why });
        };
        let members = self.members.into_iter().filter(|member| member.superblock.pool == uuid).collect();
        Ok(FoundPool { uuid, name, members, others: self.others, left_out })
    }
}

/// Why these are no members.
pub(super) fn reasons(others: &[NoMember]) -> Vec<String> {
    others.iter().map(|other| other.why.clone()).collect()
}

/// What is said of a drive that hangs.
fn no_answer(spec: &str) -> String {
    format!("{spec}: it has not answered for {} s", OPEN_ANSWER_MAX.as_secs())
}
