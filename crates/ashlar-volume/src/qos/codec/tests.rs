use ashlar_store::format::fields::CRITICAL;

use super::*;
use crate::qos::policy::Flow;

fn gold() -> Policy {
    let mut policy = Policy { weight: 200, ..Policy::default() };
    *policy.limits.iops.of_mut(Flow::Read) = NonZeroU64::new(5000);
    *policy.limits.bytes_per_second.of_mut(Flow::All) = NonZeroU64::new(200 << 20);
    *policy.limits.iops_per_gib.of_mut(Flow::Write) = NonZeroU64::new(3);
    policy.limits.burst = Duration::from_millis(2500);
    policy
}

fn policies() -> PoolPolicies {
    let mut policies = PoolPolicies::default();
    policies.put("gold", gold());
    policies.put("plain", Policy::default());
    policies.set_default(Some("plain".to_owned()));
    policies
}

#[test]
fn come_back_as_they_were() {
    assert_eq!(PoolPolicies::decode(&policies().encode()), Ok(policies()));
    assert_eq!(PoolPolicies::decode(&[]), Ok(PoolPolicies::default()));
    assert_eq!(PoolPolicies::default().encode(), []);
}

#[test]
fn any_cut_or_changed_byte_is_read_without_a_panic() {
    let bytes = policies().encode();
    for at in 0..bytes.len() {
        let _ = PoolPolicies::decode(&bytes[..at]);
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let _ = PoolPolicies::decode(&changed);
        }
    }
}

/// The policies of a pool with one policy more, which has a field that this version does not know.
fn with_later(tag: u16) -> Vec<u8> {
    let mut w = Writer(policies().encode());
    put_field(&mut w, 1, |w| {
        put_field(w, 1, |w| w.bytes(b"later"));
        put_policy(w, &gold());
        put_field(w, tag, |w| w.bytes(b"new"));
        w
    });
    put_field(&mut w, 40, |w| w.bytes(b"of the pool"));
    w.0
}

#[test]
fn what_a_newer_version_has_added_to_a_policy_stays_when_that_is_changed() {
    let mut read = PoolPolicies::decode(&with_later(40)).unwrap();
    assert_eq!(read.named("later"), Some(&gold()));
    read.put("later", Policy::default());
    let again = PoolPolicies::decode(&read.encode()).unwrap();
    assert_eq!(again, read);
    assert_eq!(again.by_name["later"].kept, read.by_name["later"].kept);
    assert_ne!(again.kept, Kept::default());
}

#[test]
fn a_policy_that_only_a_newer_version_understands_is_kept_and_limits_nobody() {
    let read = PoolPolicies::decode(&with_later(CRITICAL | 40)).unwrap();
    assert_eq!((read.named("later"), read.count()), (None, 3));
    assert_eq!(PoolPolicies::decode(&read.encode()), Ok(read.clone()));
    let resolved = read.resolve(&VolumeQos::Named("later".to_owned()));
    assert_eq!(resolved.policy, Policy::default());
}

#[test]
fn a_policy_out_of_the_bounds_of_this_version_spoils_none_of_the_others() {
    let mut w = Writer(policies().encode());
    put_field(&mut w, 1, |w| {
        put_field(w, 1, |w| w.bytes(b"heavy"));
        put_policy(w, &Policy { weight: 10_000, ..gold() });
        w
    });
    let read = PoolPolicies::decode(&w.0).unwrap();
    assert_eq!((read.named("gold"), read.named("heavy")), (Some(&gold()), None));
    assert_eq!(PoolPolicies::decode(&read.encode()), Ok(read));
}

#[test]
fn the_name_of_a_policy_that_is_not_understood_is_taken_until_that_is_deleted() {
    let mut read = PoolPolicies::decode(&with_later(CRITICAL | 40)).unwrap();
    assert!(read.has_name("later") && read.has_name("gold") && !read.has_name("other"));
    assert!(read.knows_not("later") && !read.knows_not("gold"));
    assert!(read.remove("later") && !read.remove("later"));
    read.put("later", gold());
    let again = PoolPolicies::decode(&read.encode()).unwrap();
    assert_eq!((again.named("later"), again.count()), (Some(&gold()), 3));
}

#[test]
fn a_volume_has_its_own_policy_or_the_one_it_names_or_the_default_of_its_pool() {
    let policies = policies();
    let resolve = |choice| {
        let Resolved { name, policy, source } = policies.resolve(&choice);
        (name, policy.weight, source)
    };
    let named = VolumeQos::Named("gold".to_owned());
    assert_eq!(resolve(named), (Some("gold".to_owned()), 200, PolicySource::Volume));
    let own = Policy { weight: 7, ..Policy::default() };
    assert_eq!(resolve(VolumeQos::Own(own)), (None, 7, PolicySource::Volume));
    assert_eq!(resolve(VolumeQos::Unlimited), (None, 100, PolicySource::Volume));
    let by_default = (Some("plain".to_owned()), 100, PolicySource::Pool);
    assert_eq!(resolve(VolumeQos::PoolDefault), by_default);
    let nobody = PoolPolicies::default().resolve(&VolumeQos::PoolDefault);
    assert_eq!(nobody.source, PolicySource::Nobody);
}
