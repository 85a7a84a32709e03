use super::*;

fn erase(failed: Option<&str>) -> Occurred {
    Occurred::Erased(Erase {
        pool: "tank".to_owned(),
        volume: "v0".to_owned(),
        by: ErasedBy::Format("nqn.a".to_owned()),
        failed: failed.map(str::to_owned),
    })
}

fn halt(why: &str) -> Occurred {
    Occurred::Lost(Loss::Writes(why.to_owned()))
}

fn taken(number: u64, pool: &str, whats: impl IntoIterator<Item = Occurred>) -> Occurrences {
    let one = |(number, what)| {
        let (at, pool_uuid) = (SystemTime::UNIX_EPOCH, pool.to_owned());
        Occurrence { at, number, pool_uuid, what }
    };
    Occurrences { all: (number..).zip(whats).map(one).collect(), lost: 0 }
}

#[test]
fn an_erase_is_told_when_it_was_with_host_and_volume_and_why_it_has_failed() {
    let mut heard = Heard::default();
    let told = heard.hear(Instant::now(), taken(1, "u", [erase(None), erase(Some("it hangs"))]));
    let [(at, done), (_, failed)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*at, Some(SystemTime::UNIX_EPOCH));
    assert_eq!((done.kind.as_str(), done.severity), ("volume_erased", Severity::Info));
    assert_eq!(done.message, "host nqn.a has formatted tank/v0: what it held is erased");
    assert_eq!((done.pool.as_deref(), done.volume.as_deref()), (Some("tank"), Some("v0")));
    assert_eq!(done.host.as_deref(), Some("nqn.a"));
    assert_eq!((failed.kind.as_str(), failed.severity), ("erase_failed", Severity::Error));
    assert_eq!(failed.cause.as_deref(), Some("it hangs"));
}

#[test]
fn a_host_that_erases_without_an_end_is_told_of_a_few_times_and_then_with_how_many_and_failures() {
    let (mut heard, start) = (Heard::default(), Instant::now());
    let (most, interval) = ERASES_TOLD;
    let all = (0..most + 5).map(|index| erase((index == most).then_some("it hangs")));
    assert_eq!(heard.hear(start, taken(1, "u", all)).len(), most as usize);
    assert!(heard.hear(start, Occurrences::default()).is_empty());
    let told = heard.hear(start + interval, Occurrences::default());
    let [(None, sum)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(sum.kind, "erase_failed");
    assert!(sum.message.starts_with("5 more") && sum.message.contains("1 of them"), "{sum:?}");
}

#[test]
fn what_the_node_could_not_keep_is_told_of() {
    let mut heard = Heard::default();
    heard.hear(Instant::now(), Occurrences { all: Vec::new(), lost: 12 });
    let told = heard.hear(Instant::now(), Occurrences::default());
    assert!(told[0].1.message.contains("12 more volumes"), "{told:?}");
}

#[test]
fn a_loss_waits_for_a_look_that_knows_of_it_or_finds_its_pool_closed() {
    let mut heard = Heard::default();
    let losses = ["one", "two", "three"].map(halt);
    assert!(heard.hear(Instant::now(), taken(5, "u", losses)).is_empty());
    heard.hear(Instant::now(), taken(8, "other", [halt("other")]));
    let known = |last: u64| move |pool: &str| (pool == "u").then_some(last);
    let whats = |losses: Vec<PoolLoss>| losses.into_iter().map(|it| it.what).collect::<Vec<_>>();
    let halts = |whys: &[&str]| -> Vec<Loss> {
        whys.iter().map(|why| Loss::Writes((*why).to_owned())).collect()
    };
    assert_eq!(whats(heard.take_losses(known(6))), halts(&["one", "two", "other"]));
    assert_eq!(whats(heard.take_losses(known(6))), []);
    assert_eq!(whats(heard.take_losses(known(7))), halts(&["three"]));
}
