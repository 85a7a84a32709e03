use super::*;

fn parsed(settings: &[&str]) -> anyhow::Result<ChangePool> {
    parse(&settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
}

#[test]
fn settings_are_read() {
    assert_eq!(parsed(&["recon-prio=10"]).unwrap(), ChangePool { recon_prio: Some(10) });
}

#[test]
fn what_is_no_setting_is_refused_by_name() {
    let cases: [(&[&str], &str); 5] = [
        (&["recon-prio"], "'recon-prio' is not SETTING=VALUE"),
        (&["recon-prio=0"], "recon-prio=0 cannot be: choose 1 to 100"),
        (&["recon-prio=fast"], "recon-prio=fast cannot be"),
        (&["recon-prio=1", "recon-prio=2"], "given twice"),
        (&["color=blue"], "'color' is not a setting: there is recon-prio"),
    ];
    for (settings, why) in cases {
        let error = parsed(settings).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
