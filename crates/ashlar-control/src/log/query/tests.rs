use super::*;

#[test]
fn a_time_may_have_an_offset() {
    let of = |said: &str| time("since", Some(said.to_owned())).ok().flatten();
    let noon = Some("2026-01-31T12:00:00.000Z".to_owned());
    for said in [
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00:00",
        "2026-01-31T13:00:00+01:00",
        "2026-01-31T13:00:00 01:00",
        "2026-01-31T06:30:00.000-05:30",
    ] {
        assert_eq!(of(said), noon, "{said}");
    }
    for said in ["noon", "2026-01-31T13:00:00+1", "2026-01-31T13:00:00+25:00", "2026-01-31T", "+"] {
        assert_eq!(of(said), None, "{said}");
    }
}
