use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn hosts_of(hosts: &[&str]) -> NameHosts {
    NameHosts { hosts: names(hosts), only: false }
}

#[test]
fn any_and_none_stand_alone() {
    assert_eq!(access(&names(&["any"])).unwrap(), AccessList::AllowAny);
    assert_eq!(access(&names(&["none"])).unwrap(), AccessList::Allow(BTreeSet::new()));
    assert_eq!(access(&[]).unwrap(), AccessList::Allow(BTreeSet::new()));
    assert!(access(&names(&["any", "nqn.2014-08.org.example:a"])).is_err());
}

#[test]
fn what_is_no_nqn_is_named() {
    let error = allow(&hosts_of(&["iqn.1998-01.com.example"])).unwrap_err();
    assert!(error.detail.contains("iqn.1998-01.com.example"), "{error}");
}

#[test]
fn the_example_of_a_host_is_not_allowed_but_may_be_taken_back() {
    let example = hosts_of(&["nqn.2014-08.org.nvmexpress:uuid:HOST"]);
    let refused = [allow(&example).map(drop), access(&example.hosts).map(drop)];
    for error in refused.map(Result::unwrap_err) {
        assert!(error.detail.contains("uuid:HOST"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("cat /etc/nvme/hostnqn")));
    }
    assert!(deny(&example).is_ok());
}

#[test]
fn deny_takes_all_and_allow_takes_any() {
    assert_eq!(deny(&hosts_of(&["all"])).unwrap(), AccessChange::DenyAll);
    assert_eq!(deny(&hosts_of(&["any"])).unwrap(), AccessChange::DenyAny);
    assert_eq!(allow(&hosts_of(&["any"])).unwrap(), AccessChange::AllowAny);
    for (refused, why) in [
        (allow(&hosts_of(&["all"])), "'all' says nothing here"),
        (deny(&hosts_of(&["none"])), "'none' says nothing here"),
        (
            deny(&hosts_of(&["any", "nqn.2014-08.org.example:a"])),
            "'any' was given with other hosts",
        ),
        (allow(&NameHosts { only: true, ..hosts_of(&["any"]) }), "leave only out"),
        (deny(&NameHosts { only: true, ..hosts_of(&["all"]) }), "only is a word to allow hosts"),
    ] {
        let said = refused.unwrap_err().detail;
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_directory_stands_for_the_files_in_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("1.img"), "").unwrap();
    fs::write(directory.path().join("0.img"), "").unwrap();
    fs::create_dir(directory.path().join("below")).unwrap();
    let named = names(&[directory.path().to_str().unwrap(), "/dev/nvme9n1"]);
    let (drives, looked) = expand_directories(&named).unwrap();
    let file = |name| format!("file:{}", directory.path().join(name).display());
    assert_eq!(
        (drives, looked),
        (vec![file("0.img"), file("1.img"), "/dev/nvme9n1".to_owned()], true)
    );
}

#[test]
fn a_relative_directory_is_not_looked_for_where_the_daemon_runs() {
    let named = names(&["src"]);
    assert_eq!(expand_directories(&named).unwrap(), (named, false));
}

/// The sum of that and the time now is what the next scrub is due at.
#[test]
fn settings_that_no_pool_can_have_are_refused_with_the_range() {
    let set = |change: ChangePool| settings(change).map_err(|error| error.detail);
    let none = ChangePool::default;
    let interval = |seconds| set(ChangePool { scrub_interval_seconds: Some(seconds), ..none() });
    assert_eq!(
        interval(SCRUB_INTERVAL_SECONDS_MAX).unwrap().scrub_interval,
        Some(Some(Duration::from_secs(315_360_000)))
    );
    assert_eq!(interval(0).unwrap().scrub_interval, Some(None));
    for seconds in [SCRUB_INTERVAL_SECONDS_MAX + 1, u64::MAX] {
        let said = interval(seconds).unwrap_err();
        assert!(said.contains(&format!("scrub-interval of {seconds} s")), "{said}");
        assert!(said.contains("1 s to 3650 days"), "{said}");
    }
    let refused = [
        (
            ChangePool { recon_prio_percent: Some(0), ..none() },
            "recon-prio=0 cannot be: choose 1 to 100",
        ),
        (
            ChangePool { scrub_prio_percent: Some(101), ..none() },
            "scrub-prio=101 cannot be: choose 1 to 100",
        ),
        (ChangePool { recon_p99_us: Some(60_000_001), ..none() }, "choose 1 to 60000000 us"),
        (ChangePool { io_timeout_seconds: Some(1), ..none() }, "choose 2 to 3600 s"),
    ];
    for (change, why) in refused {
        let said = set(change).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}

/// The second look at it found it in use by the daemon itself.
#[test]
fn what_is_named_beside_its_directory_is_looked_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("file:{}", directory.path().join(name).display());
    for name in ["0.img", "1.img"] {
        fs::write(directory.path().join(name), "").unwrap();
    }
    std::os::unix::fs::symlink(directory.path().join("0.img"), directory.path().join("link.img"))
        .unwrap();
    let all = directory.path().to_str().unwrap();
    let (drives, _) = expand_directories(&names(&[all, &file("1.img"), all])).unwrap();
    assert_eq!(drives, [file("0.img"), file("1.img")]);
    let (drives, _) = expand_directories(&names(&[&file("link.img"), all])).unwrap();
    assert_eq!(drives, [file("link.img"), file("1.img")]);
}
