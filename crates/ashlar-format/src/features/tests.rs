use super::*;

fn feature(kind: FeatureKind, bit: u8, name: &str) -> Feature {
    Feature { kind, bit, name: name.to_owned() }
}

fn encoded(features: &Features) -> Vec<u8> {
    let mut w = Writer::default();
    features.encode(&mut w);
    assert_eq!(w.0.len(), features.bytes());
    w.0
}

fn decoded(bytes: &[u8]) -> Result<Features, Malformed> {
    Features::decode(&mut Reader::new("features", bytes))
}

#[test]
fn features_read_back_with_their_names() {
    let features = Features::new(vec![
        feature(FeatureKind::Incompatible, 63, "dedup"),
        feature(FeatureKind::Compatible, 0, "usage per host"),
        feature(FeatureKind::ReadOnlyCompatible, 5, "snapshots"),
    ]);
    assert_eq!(decoded(&encoded(&features)), Ok(features));
}

#[test]
fn what_is_not_known_is_told_by_word_and_name() {
    let features = Features::new(vec![
        feature(FeatureKind::Incompatible, 1, "dedup"),
        feature(FeatureKind::ReadOnlyCompatible, 1, "snapshots"),
    ]);
    let names = |kind| features.unknown(kind).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(FeatureKind::Incompatible), ["dedup"]);
    assert_eq!(names(FeatureKind::ReadOnlyCompatible), ["snapshots"]);
    assert!(names(FeatureKind::Compatible).is_empty());
}

#[test]
fn a_bit_without_a_name_is_called_by_its_number() {
    let mut bytes = encoded(&Features::default());
    bytes[16] = 4;
    let features = decoded(&bytes).expect("it is whole");
    assert_eq!(features.unknown(FeatureKind::Incompatible)[0].name, "Incompatible 2");
}

#[test]
fn a_name_that_would_not_print_is_malformed() {
    let features = Features::new(vec![feature(FeatureKind::Compatible, 0, "a\u{1b}[2J")]);
    assert!(decoded(&encoded(&features)).is_err());
}
