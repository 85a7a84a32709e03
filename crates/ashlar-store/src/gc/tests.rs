use super::*;

fn candidate(id: u32, live: f64, sealed_at: u64) -> Candidate {
    Candidate { id: SegmentId(id), live, sealed_at, chunks: 5 }
}

#[test]
fn of_segments_of_one_age_the_emptiest_is_collected() {
    let candidates = [candidate(1, 0.8, 100), candidate(2, 0.2, 100), candidate(3, 0.5, 100)];
    assert_eq!(choose_victim(candidates.into_iter(), 200), Some(SegmentId(2)));
}

#[test]
fn an_old_segment_is_collected_before_a_young_one_that_is_emptier() {
    let candidates = [candidate(1, 0.6, 0), candidate(2, 0.4, 990)];
    assert_eq!(choose_victim(candidates.into_iter(), 1000), Some(SegmentId(1)));
}

#[test]
fn a_clock_that_went_back_makes_segments_young_and_nothing_worse() {
    let candidates = [candidate(1, 0.6, 5000), candidate(2, 0.4, 5000)];
    assert_eq!(choose_victim(candidates.into_iter(), 1000), Some(SegmentId(2)));
    assert_eq!(choose_victim(std::iter::empty(), 1000), None);
}
