use super::*;

const GIB: u64 = 1 << 30;

fn limit(value: u64) -> Limit {
    NonZeroU64::new(value)
}

#[test]
fn commands_per_gib_follow_the_size_and_the_lower_limit_counts() {
    let mut limits = Limits::default();
    *limits.iops_per_gib.of_mut(Flow::Read) = limit(30);
    assert_eq!(limits.iops_of(Flow::Read, 100 * GIB), limit(3000));
    assert_eq!(limits.iops_of(Flow::Read, 200 * GIB), limit(6000));
    assert_eq!(limits.iops_of(Flow::Read, GIB / 2), limit(15));
    assert_eq!(limits.iops_of(Flow::Read, 4096), limit(IOPS_MIN), "a volume does something");
    assert_eq!(limits.iops_of(Flow::Write, 100 * GIB), None);
    *limits.iops.of_mut(Flow::Read) = limit(5000);
    assert_eq!(limits.iops_of(Flow::Read, 100 * GIB), limit(3000));
    assert_eq!(limits.iops_of(Flow::Read, 200 * GIB), limit(5000));
}

#[test]
fn a_policy_out_of_bounds_is_refused_with_the_bounds() {
    let with = |change: fn(&mut Policy)| {
        let mut policy = Policy::default();
        change(&mut policy);
        policy.check().map_err(|error| error.to_string())
    };
    assert_eq!(with(|_| {}), Ok(()));
    let low = with(|policy| *policy.limits.iops.of_mut(Flow::All) = limit(9));
    assert!(low.unwrap_err().contains("The least is 10"));
    let low = with(|policy| *policy.limits.bytes_per_second.of_mut(Flow::Write) = limit(1000));
    assert!(low.unwrap_err().contains("1048576"));
    assert!(with(|policy| policy.limits.burst = Duration::from_millis(9)).is_err());
    assert!(with(|policy| policy.limits.burst = Duration::from_micros(10_500)).is_err());
    assert!(with(|policy| policy.limits.burst = Duration::from_millis(10_500)).is_ok());
    assert!(with(|policy| policy.weight = 0).is_err());
    assert!(with(|policy| policy.weight = 1001).is_err());
}

#[test]
fn words_that_mean_something_else_are_no_names_of_policies() {
    assert_eq!(Policy::check_name("gold"), Ok(()));
    for name in ["none", "default", "own", "", "a/b", "-x"] {
        assert!(Policy::check_name(name).is_err(), "'{name}'");
    }
}

#[test]
fn errors_are_sentences_without_gaps() {
    let [pool, policy, volumes] = ["tank", "gold", "v0"].map(str::to_owned);
    let in_use = QosError::PolicyInUse { pool: pool.clone(), policy: policy.clone(), volumes };
    let is_default = QosError::PolicyIsDefault { pool: pool.clone(), policy };
    let unreadable = QosError::Unreadable { pool, why: "cut off".to_owned() };
    for error in [in_use, is_default, unreadable] {
        assert!(!error.to_string().contains("  "), "{error}");
    }
}
