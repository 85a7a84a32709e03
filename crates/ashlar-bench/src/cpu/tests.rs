use std::hint::black_box;

use super::CpuClock;

#[test]
fn work_takes_time_of_its_thread_and_its_process() {
    let clock = CpuClock::of_this_thread().unwrap();
    let process = CpuClock::Process(std::process::id());
    let (before, process_before) = (clock.spent().unwrap(), process.spent().unwrap());
    let mut sum = 0_u64;
    while clock.spent().unwrap() == before {
        (0..100_000_u64).for_each(|number| sum = black_box(sum ^ number));
    }
    assert!(process.spent().unwrap() > process_before);
}
