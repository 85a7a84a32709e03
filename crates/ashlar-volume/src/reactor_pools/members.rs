//! Which of the drives that were given are members, of which pool, and which members are late.

use std::collections::BTreeSet;

use ashlar_block::{Clock, Device, DriveId, DriveUuid, PoolUuid, within};
use ashlar_store::format::root::{MemberRecord, MemberState};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{FoundDrive, OPEN_ANSWER_MAX, newest_label, read_roots};
use futures_util::future::join_all;

use super::{OpenRequest, OpeningStage, PoolDrive, ReactorPools};
use crate::drive_provider::{DriveContent, DriveProvider, NoMember, ProvidedDrive, inspect};
use crate::error::NodeError;

/// Pause between two looks whether a late drive has come.
const LATE_POLL: std::time::Duration = std::time::Duration::from_millis(100);

/// A drive that is a member of a pool.
pub(super) struct FoundMember<D> {
    superblock: Superblock,
    drive: ProvidedDrive<D>,
}

impl<D: Clone> FoundMember<D> {
    pub(super) fn new(superblock: Superblock, drive: ProvidedDrive<D>) -> Self {
        FoundMember { superblock, drive }
    }

    /// As the store takes it, and as it is kept here.
    pub(super) fn split(self) -> (FoundDrive<D>, PoolDrive<D>) {
        let FoundMember { superblock, drive } = self;
        let (id, uuid, pool_bytes) =
            (superblock.drive, superblock.drive_uuid, superblock.drive_bytes);
        let device = drive.device.clone();
        (FoundDrive { superblock, device }, PoolDrive { id, uuid, drive, pool_bytes })
    }
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
    /// What somebody wants it to be called from now on.
    pub(super) rename: Option<String>,
    pub(super) members: Vec<FoundMember<D>>,
    /// Other drives that were given.
    pub(super) others: Vec<NoMember>,
    /// Why further ones are no members; there is nothing to say of them if they are not missed.
    pub(super) skipped_drives: Vec<String>,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// The members of the pool that is asked for. Those that its newest root counts on are waited
    /// for.
    pub(super) async fn find_pool(
        &self,
        request: &OpenRequest,
    ) -> Result<FoundPool<B::Device>, NodeError> {
        let (wanted, start) = (request.pool.as_deref(), self.world.now());
        let mut found = Found { members: Vec::new(), others: Vec::new() };
        let mut late: Option<Late> = None;
        loop {
            let has_come = self.find_more(request, &mut found, late.is_none()).await;
            let is_waited_for = self.world.now().since(start) < request.member_wait;
            let is_whole = found.others.is_empty() && !request.seek;
            if is_whole || !is_waited_for || request.opening.is_stopped() {
                break;
            }
            let is_first = late.is_none();
            if has_come || is_first {
                late = Some(found.late(&self.world, wanted).await);
            }
            let Some(late) = late.as_ref().filter(|late| late.is_any) else { break };
            request.opening.enter(OpeningStage::Waiting(late.names()));
            if is_first {
                let why =
                    [found.reasons(), reasons(&self.missed(request, &found))].concat().join("; ");
                let pool = request.name.as_deref().or(wanted);
                tracing::warn!(pool, "drives are late and waited for: {why}");
            }
            self.world.sleep(LATE_POLL).await;
        }
        if request.opening.is_stopped() {
            let named = request.name.as_deref().or(wanted);
            let pool = named.map_or("the pool".to_owned(), |name| format!("pool '{name}'"));
            return Err(NodeError::OpeningStopped { pool });
        }
        let missed = self.missed(request, &found);
        found.choose_pool(request, missed)
    }

    /// Looks at drives that may be members and that were not found to be. True: some are.
    async fn find_more(
        &self,
        request: &OpenRequest,
        found: &mut Found<B::Device>,
        is_first: bool,
    ) -> bool {
        let others: Vec<String> = found.others.drain(..).map(|other| other.spec).collect();
        let places: Vec<String> = match request.pool.as_deref().filter(|_| request.seek) {
            Some(pool) => {
                let is_new = |(uuid, _): &(DriveUuid, String)| !found.has(*uuid);
                self.provider
                    .sought(pool)
                    .drives
                    .into_iter()
                    .filter(is_new)
                    .map(|(_, spec)| spec)
                    .collect()
            }
            None if is_first => request.drives.clone(),
            None => others,
        };
        let mut more = self.find_members(&places).await;
        more.let_go_of_others(request.pool.as_deref());
        let has_come = !more.members.is_empty();
        found.members.extend(more.members);
        found.others = more.others;
        has_come
    }

    /// Why no member is where members were, of a pool whose drives are sought.
    fn missed(&self, request: &OpenRequest, found: &Found<B::Device>) -> Vec<NoMember> {
        let Some(pool) = request.pool.as_deref().filter(|_| request.seek) else {
            return Vec::new();
        };
        let is_new = |missed: &NoMember| !found.is_missing(&missed.spec);
        self.provider.sought(pool).missed.into_iter().filter(is_new).collect()
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
        match inspect(&self.provider, &drive.device).await {
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
        members
            .filter(move |superblock| superblock.pool == pool)
            .map(|superblock| superblock.drive_uuid)
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

    fn has(&self, uuid: DriveUuid) -> bool {
        self.members.iter().any(|member| member.superblock.drive_uuid == uuid)
    }

    /// Which drives are not there that the pool counts on.
    async fn late(&self, clock: &impl Clock, wanted: Option<&str>) -> Late {
        let Some(uuid) = self.pools(wanted).first().map(|(uuid, _)| *uuid) else {
            return Late { is_any: true, drives: Vec::new() };
        };
        let members = self.members.iter().filter(|member| member.superblock.pool == uuid);
        let there: BTreeSet<DriveUuid> =
            members.clone().map(|member| member.superblock.drive_uuid).collect();
        let roots = members.map(|member| {
            let roots = read_roots(&member.drive.device, uuid);
            within(clock, OPEN_ANSWER_MAX, roots)
        });
        let roots = join_all(roots).await.into_iter().flatten().flatten();
        let newest = roots.max_by_key(|root| root.generation);
        let counted_on = newest.iter().flat_map(|root| &root.members);
        let is_late = |member: &&MemberRecord| {
            member.state == MemberState::Present && !there.contains(&member.uuid)
        };
        let drives: Vec<DriveId> = counted_on.filter(is_late).map(|member| member.drive).collect();
        Late { is_any: !drives.is_empty(), drives }
    }

    /// The pools that the drives belong to, as far as they may be meant, each with the newest name
    /// that one of them says.
    fn pools(&self, wanted: Option<&str>) -> BTreeSet<(PoolUuid, String)> {
        let superblocks = || self.members.iter().map(|member| &member.superblock);
        let uuids: BTreeSet<PoolUuid> = superblocks().map(|superblock| superblock.pool).collect();
        let named = uuids.into_iter().filter_map(|uuid| {
            let newest = newest_label(superblocks().filter(|superblock| superblock.pool == uuid))?;
            Some((uuid, newest.pool_name.clone()))
        });
        let is_wanted = |(uuid, name): &(PoolUuid, String)| {
            wanted.is_none_or(|wanted| name == wanted || uuid.to_string() == wanted)
        };
        named.filter(is_wanted).collect()
    }

    /// The pool that is meant, of those that the drives belong to.
    fn choose_pool(
        mut self,
        request: &OpenRequest,
        missed: Vec<NoMember>,
    ) -> Result<FoundPool<D>, NodeError> {
        let (wanted, skipped_drives) = (request.pool.as_deref(), request.skipped_drives.clone());
        self.others.extend(missed);
        let mut meant: Vec<_> = self.pools(wanted).into_iter().collect();
        if meant.len() > 1 {
            let names: BTreeSet<&str> = meant.iter().map(|(_, name)| name.as_str()).collect();
            let have_one_name = names.len() < meant.len();
            let pools =
                meant.iter().map(|(uuid, name)| format!("{name} {uuid}")).collect::<Vec<_>>();
            return Err(NodeError::SeveralPools { pools: pools.join(", "), have_one_name });
        }
        let Some((uuid, name)) = meant.pop() else {
            let pool = wanted.map_or("a pool".to_owned(), |name| format!("pool '{name}'"));
            let reasons = [self.reasons(), skipped_drives].concat();
            let why = if reasons.is_empty() {
                nothing_known(request.seek).to_owned()
            } else {
                reasons.join("; ")
            };
            return Err(if request.seek {
                NodeError::NoneThere { why }
            } else {
                NodeError::NoMembers { pool, why }
            });
        };
        let members =
            self.members.into_iter().filter(|member| member.superblock.pool == uuid).collect();
        let (others, rename) = (self.others, None);
        Ok(FoundPool { uuid, name, rename, members, others, skipped_drives })
    }
}

fn nothing_known(is_sought: bool) -> &'static str {
    if is_sought { "no drive carries its label" } else { "they belong to other pools" }
}

/// Drives that a pool counts on and that are not there.
struct Late {
    /// There are some. Until a member is there it is not known which.
    is_any: bool,
    drives: Vec<DriveId>,
}

impl Late {
    fn names(&self) -> Vec<String> {
        self.drives.iter().map(|drive| format!("drive-{}", drive.0)).collect()
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
