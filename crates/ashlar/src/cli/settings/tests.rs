use super::*;

fn parsed(settings: &[&str]) -> anyhow::Result<ChangePool> {
    parse(&settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
}

#[test]
fn settings_are_read() {
    assert_eq!(
        parsed(&["recon-prio=10"]).unwrap(),
        ChangePool { recon_prio_percent: Some(10), ..ChangePool::default() }
    );
    let all = ChangePool {
        recon_prio_percent: Some(1),
        recon_p99_us: Some(2000),
        scrub_prio_percent: Some(7),
        scrub_interval_seconds: Some(14 * 86_400),
        fault_threshold: Some(20),
        io_timeout_seconds: Some(5),
        autotrim: Some(false),
        overcommit: Some(true),
        warn_percent: Some(70),
        throttle_percent: Some(80),
        stop_percent: Some(95),
    };
    let given = [
        "recon-prio=1",
        "recon-p99=2ms",
        "scrub-prio=7",
        "scrub-interval=14d",
        "fault-threshold=20",
        "io-timeout=5s",
        "autotrim=off",
        "overcommit=on",
        "warn=70",
        "throttle=80",
        "stop=95%",
    ];
    assert_eq!(parsed(&given).unwrap(), all);
    assert_eq!(given.map(|setting| setting.split('=').next().expect("a name")), SETTINGS);
    let p99 = |value: &str| parsed(&[&format!("recon-p99={value}")]).unwrap().recon_p99_us;
    assert_eq!((p99("500us"), p99("60s"), p99("off")), (Some(500), Some(60_000_000), Some(0)));
    let interval =
        |value: &str| parsed(&[&format!("scrub-interval={value}")]).unwrap().scrub_interval_seconds;
    assert_eq!((interval("12h"), interval("off")), (Some(43_200), Some(0)));
    assert_eq!(parsed(&["fault-threshold=off"]).unwrap().fault_threshold, Some(0));
    assert_eq!(parsed(&["io-timeout=off"]).unwrap().io_timeout_seconds, Some(0));
}

#[test]
fn what_is_no_setting_is_refused_by_name() {
    let cases: [(&[&str], &str); 16] = [
        (&["recon-prio"], "'recon-prio' is not SETTING=VALUE"),
        (&["recon-prio=0"], "recon-prio=0 cannot be: choose 1 to 100"),
        (&["recon-prio=fast"], "recon-prio=fast cannot be"),
        (&["recon-prio=1", "recon-prio=2"], "given twice"),
        (&["recon-p99=2"], "recon-p99=2 cannot be: choose a whole number of us, ms or s, as 2ms"),
        (&["recon-p99=1.5ms"], "recon-p99=1.5ms cannot be: choose a whole number"),
        (
            &["recon-p99=61s"],
            "recon-p99=61s cannot be: choose a whole number of us, ms or s, as 2ms or 500us, up to 60s",
        ),
        (&["recon-p99=0ms"], "recon-p99=0ms cannot be"),
        (&["color=blue"], "'color' is not a setting: there are recon-prio"),
        (&["scrub-prio=101"], "scrub-prio=101 cannot be: choose 1 to 100"),
        (
            &["scrub-interval=0d"],
            "scrub-interval=0d cannot be: choose days (30d), hours (12h) or off",
        ),
        (&["scrub-interval=monthly"], "scrub-interval=monthly cannot be"),
        (
            &["scrub-interval=3651d"],
            "scrub-interval=3651d cannot be: choose days (30d), hours (12h) or off; 3650d at most",
        ),
        (&["io-timeout=20"], "io-timeout=20 cannot be: choose seconds, 2s to 3600s, or off"),
        (&["io-timeout=3601s"], "io-timeout=3601s cannot be"),
        (&["fault-threshold=0"], "fault-threshold=0 cannot be: choose 1 to 4294967295, or off"),
    ];
    for (settings, why) in cases {
        let error = parsed(settings).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_is_shown_is_what_may_be_set_and_comes_to_the_same() {
    let chosen = PoolSettings {
        recon_prio_percent: 10,
        recon_p99_us: 2000,
        scrub_prio_percent: 5,
        scrub_interval_seconds: 30 * 86_400,
        fault_threshold: 0,
        io_timeout_seconds: 30,
        autotrim: true,
        overcommit: false,
        warn_percent: 90,
        throttle_percent: 95,
        stop_percent: 100,
    };
    let all = shown(&chosen, &[]).unwrap();
    let settings: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let change = parse(&settings).unwrap();
    let said = serde_json::to_value(change).unwrap();
    assert_eq!(said, serde_json::to_value(chosen).unwrap());
    let one = shown(&chosen, &["fault-threshold".to_owned()]).unwrap();
    assert_eq!(one, [("fault-threshold", "off".to_owned())]);
    let said = shown(&chosen, &["colour".to_owned()]).unwrap_err().to_string();
    assert!(said.contains("'colour' is not a setting: there are recon-prio"), "{said}");
}
