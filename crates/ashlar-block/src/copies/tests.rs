use super::*;

#[test]
fn copies_count_from_the_beginning_on_for_the_thread_that_makes_them() {
    note(5);
    assert_eq!(of_this_thread(), 0);
    begin();
    note(7);
    std::thread::spawn(|| note(11)).join().expect("it does not panic");
    assert_eq!((of_this_thread(), of_all_threads()), (7, 18));
}
