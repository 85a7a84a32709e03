use ashlar_format::location::Codec;

use super::*;

fn page(number: u32) -> Pointer {
    let location = Location::new(SegmentId(1 + number / 1000), 0, number % 1000, 64, Codec::Raw);
    Pointer { location, crc: number }
}

/// Writes what is due above the leaves. Returns how many nodes those were.
fn write(tree: &mut PageTree, next: &mut u32) -> usize {
    let mut written = 0;
    for level in 1..LEVELS {
        for node in tree.due(level).into_iter().flatten() {
            *next += 1;
            let is_empty = tree.children(level, node).is_empty();
            tree.place(level, node, (!is_empty).then(|| page(*next)));
            written += 1;
        }
    }
    tree.nodes_written();
    written
}

/// The leaves that can be found from the top.
fn reached(tree: &PageTree) -> usize {
    let mut again = PageTree::of_top(&tree.top());
    for level in (1..=again.height()).rev() {
        let nodes: Vec<u32> = again.pages(level).keys().copied().collect();
        nodes.into_iter().for_each(|node| again.load(level - 1, tree.children(level, node)));
    }
    assert_eq!(again.pages(0), tree.pages(0));
    again.pages(0).len()
}

#[test]
fn a_tree_of_few_leaves_has_no_nodes() {
    let mut tree = PageTree::default();
    (0..TOP_PAGES_MAX as u32).for_each(|leaf| {
        tree.place(0, leaf * 1000, Some(page(leaf)));
    });
    assert_eq!((write(&mut tree, &mut 0), tree.height()), (0, 0));
    assert_eq!(reached(&tree), TOP_PAGES_MAX);
}

#[test]
fn a_changed_leaf_of_many_writes_the_nodes_above_it_and_no_others() {
    let mut tree = PageTree::default();
    let mut next = 0;
    (0..200_000).for_each(|leaf| {
        tree.place(0, leaf, Some(page(leaf)));
    });
    // 1,563 nodes above the leaves, and 13 above those.
    assert_eq!((write(&mut tree, &mut next), tree.height()), (1_563 + 13, 2));
    assert_eq!(tree.place(0, 777, Some(page(1))), Some(page(777)));
    assert_eq!(write(&mut tree, &mut next), 2);
    assert_eq!(reached(&tree), 200_000);
}

#[test]
fn a_tree_that_shrinks_lets_go_of_its_nodes_and_one_that_grows_again_writes_them_all() {
    let mut tree = PageTree::default();
    let mut next = 0;
    (0..1000).for_each(|leaf| {
        tree.place(0, leaf, Some(page(leaf)));
    });
    assert_eq!((write(&mut tree, &mut next), tree.height()), (8, 1));
    (10..1000).for_each(|leaf| {
        tree.place(0, leaf, None);
    });
    assert_eq!((write(&mut tree, &mut next), tree.height()), (0, 0));
    assert_eq!(tree.locations().count(), 10, "nodes of before are gone");
    (500..800).for_each(|leaf| {
        tree.place(0, leaf, Some(page(leaf)));
    });
    assert_eq!((write(&mut tree, &mut next), tree.height()), (5, 1));
    assert_eq!(reached(&tree), 310);
}

#[test]
fn the_last_numbers_have_a_place_and_a_node_without_children_goes() {
    let mut tree = PageTree::default();
    let mut next = 0;
    let last = SegmentId::COUNT as u32 / ashlar_format::table::LEAF_NUMBERS;
    (0..100).for_each(|leaf| {
        tree.place(0, last - leaf * 300, Some(page(leaf)));
    });
    write(&mut tree, &mut next);
    assert_eq!((tree.height(), reached(&tree)), (2, 100));
    tree.place(0, last, None);
    write(&mut tree, &mut next);
    assert_eq!(reached(&tree), 99);
    assert!(!tree.pages(1).contains_key(&(last / NODE_CHILDREN)));
}

#[test]
fn what_lies_in_a_segment_is_written_elsewhere() {
    let mut tree = PageTree::default();
    let mut next = 5_000_000;
    (0..2000).for_each(|leaf| {
        tree.place(0, leaf, Some(page(leaf)));
    });
    write(&mut tree, &mut next);
    assert_eq!(tree.touch_in(SegmentId(2)), (1000..2000).collect::<Vec<_>>());
    assert_eq!(write(&mut tree, &mut next), 0, "its leaves are their owner's to write");
    let nodes = tree.pages(1).len();
    assert_eq!(tree.touch_in(SegmentId(5001)), []);
    assert_eq!(write(&mut tree, &mut next), nodes);
}
