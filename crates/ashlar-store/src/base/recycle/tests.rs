use super::*;

#[test]
fn a_list_that_came_back_is_given_out_again_empty() {
    let recycler = Recycler::default();
    let mut first = recycler.list();
    first.extend([1, 2, 3]);
    let place = first.as_ptr();
    drop(first);
    let (again, other) = (recycler.list(), recycler.list());
    assert!(again.is_empty() && other.is_empty());
    assert_eq!(again.as_ptr(), place);
    assert_eq!(other.capacity(), 0, "nothing else had been kept");
}

#[test]
fn no_more_is_kept_than_allowed() {
    let recycler = Recycler::<u64>::default();
    let lists: Vec<_> = (0..3)
        .map(|_| {
            let mut list = recycler.list();
            list.reserve_exact(KEPT_BYTES_MAX / 2 / size_of::<u64>());
            list
        })
        .collect();
    drop(lists);
    let kept = recycler.kept.borrow();
    assert_eq!((kept.lists.len(), kept.bytes), (2, KEPT_BYTES_MAX));
}

#[test]
fn a_list_may_outlive_its_recycler() {
    let recycler = Recycler::default();
    let mut list = recycler.list();
    drop(recycler);
    list.push(7);
    assert_eq!(*list, [7]);
}
