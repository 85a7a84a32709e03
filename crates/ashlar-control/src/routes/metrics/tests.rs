use super::*;

fn wants(accept: &[&str]) -> bool {
    wants_open_metrics(&accept.iter().map(|value| (ACCEPT, value.parse().unwrap())).collect())
}

#[test]
fn open_metrics_are_for_those_who_name_them() {
    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert!(wants(&[prometheus]) && wants(&["text/plain", "Application/OpenMetrics-Text"]));
    for not in ["*/*", "text/plain", "", "application/openmetrics-text;q=0, */*"] {
        assert!(!wants(&[not]), "{not}");
    }
    assert!(!wants(&[]));
}
