use std::hint::black_box;
use std::thread;

use super::*;

#[test]
fn work_takes_time_of_its_thread_and_its_process() {
    let clock = CpuClock::of_this_thread().unwrap();
    let process = CpuClock::Process(std::process::id());
    let before = clock.spent().unwrap();
    let mut sum = 0_u64;
    while clock.spent().unwrap() == before {
        (0..100_000_u64).for_each(|number| sum = black_box(sum ^ number));
    }
    // Not beside what the process had before: other tests' threads end, and with them their time is
    // gone.
    let of_thread = clock.spent().unwrap();
    assert!(process.spent().unwrap() >= of_thread);
}

// One that ended between the list of them and the look at its time would have been an error.
#[test]
fn threads_that_end_meanwhile_do_no_harm() {
    let process = CpuClock::Process(std::process::id());
    for _ in 0..300 {
        let short = thread::spawn(|| ());
        process.spent().unwrap();
        short.join().unwrap();
    }
}
