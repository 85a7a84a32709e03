use super::*;

fn named(listen: &[&str], discovery: &[&str]) -> anyhow::Result<Vec<String>> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let portals = portals(&owned(listen), &owned(discovery))?;
    Ok(portals.iter().map(|portal| format!("{} {}", key(portal.kind), portal.address)).collect())
}

fn refused(listen: &[&str], discovery: &[&str]) -> String {
    format!("{:#}", named(listen, discovery).unwrap_err())
}

#[test]
fn both_families_may_have_one_port() {
    let both = ["0.0.0.0:4420", "[::]:4420"];
    assert_eq!(named(&both, &["none"]).unwrap(), ["listen 0.0.0.0:4420", "listen [::]:4420"]);
    let all = named(&both, &["0.0.0.0:8009", "[::]:8009"]).unwrap();
    assert_eq!(all[2..], ["discovery 0.0.0.0:8009", "discovery [::]:8009"]);
    assert!(named(&["10.0.0.1:4420", "[fd00::1]:4420", "10.0.0.2:4420"], &["[::1]:4420"]).is_ok());
    assert!(
        named(&["127.0.0.1:0", "127.0.0.1:0"], &["127.0.0.1:0"]).is_ok(),
        "each takes a free port"
    );
}

#[test]
fn an_address_that_is_given_twice_is_refused_with_both_places() {
    let said = refused(&["10.0.0.1:4420", "10.0.0.1:4420"], &["none"]);
    assert_eq!(
        said,
        "10.0.0.1:4420 is given twice, by listen and by listen: once is enough: leave it out"
    );
    let said = refused(&["[::1]:4420"], &["[::1]:4420"]);
    assert!(
        said.contains("by listen and by discovery") && said.contains("--discovery none"),
        "{said}"
    );
    let said = refused(&["10.0.0.1:4420", "[::ffff:10.0.0.1]:4420"], &["none"]);
    assert!(
        said.contains("10.0.0.1:4420 is given twice"),
        "one address, written in two ways: {said}"
    );
}

#[test]
fn an_address_that_another_one_includes_is_refused_with_both() {
    for listen in [["0.0.0.0:4420", "10.0.0.1:4420"], ["10.0.0.1:4420", "0.0.0.0:4420"]] {
        let said = refused(&listen, &["none"]);
        assert!(said.contains("10.0.0.1:4420 of listen is part of 0.0.0.0:4420"), "{said}");
        assert!(said.contains("all IPv4 addresses"), "{said}");
    }
    let said = refused(&["[::]:4420"], &["[::1]:4420"]);
    assert!(
        said.contains("[::1]:4420 of discovery is part of [::]:4420")
            && said.contains("--discovery none"),
        "{said}"
    );
}

#[test]
fn what_is_no_address_is_refused_with_its_key() {
    assert!(refused(&["somewhere"], &["none"]).contains("listen: 'somewhere' is not an address"));
    assert!(
        refused(&["10.0.0.1:1"], &["10.0.0.1"]).contains("discovery: '10.0.0.1' is not an address")
    );
    assert!(refused(&["10.0.0.1:1"], &["none", "10.0.0.1:2"]).contains("give 'none' alone"));
    assert!(refused(&[], &["none"]).contains("listen names no address"));
}
