use super::*;

#[test]
fn every_pair_is_lacking_until_a_seed_has_met_it() {
    let mut coverage = Coverage::default();
    let all = coverage.pairs().len();
    assert_eq!(coverage.lacks(true).len(), all);
    let mut seed = Coverage::default();
    seed.note(&[0; DIMENSIONS.len()]);
    seed.note(&[0; DIMENSIONS.len()]);
    coverage.add_seed(&seed);
    let pairs = DIMENSIONS.len() * (DIMENSIONS.len() - 1) / 2;
    let met = |(seeds, _): &(u64, String)| *seeds == 1;
    assert_eq!(coverage.pairs().iter().filter(|pair| met(pair)).count(), pairs);
    assert_eq!(coverage.lacks(true).len(), all - pairs);
}

/// Whether a run of 20,000 states failed was a matter of chance.
#[test]
fn what_is_seldom_met_is_asked_of_very_long_runs_alone() {
    let coverage = Coverage::default();
    let (long, very_long) = (coverage.lacks(false), coverage.lacks(true));
    assert_eq!(very_long.len() - long.len(), SELDOM.len());
    assert!(
        SELDOM
            .iter()
            .all(|pair| very_long.contains(&pair.words()) && !long.contains(&pair.words()))
    );
}

#[test]
fn what_is_said_to_be_impossible_is_a_pair() {
    let is_value = |(dimension, value): (&str, &str)| {
        DIMENSIONS.iter().any(|known| known.name == dimension && known.values.contains(&value))
    };
    for impossible in IMPOSSIBLE.iter().chain(&SELDOM) {
        assert!(is_value(impossible.one) && is_value(impossible.other), "{:?}", impossible.one);
        let nth = |name: &str| DIMENSIONS.iter().position(|known| known.name == name);
        assert!(nth(impossible.one.0) < nth(impossible.other.0), "in the order of the dimensions");
    }
}

#[test]
fn a_value_is_in_the_bin_whose_bounds_it_has_reached() {
    assert_eq!([0, 1, 2, 4, 5, 9].map(|value| bin(value, &[2, 5])), [0, 0, 1, 1, 2, 2]);
}
