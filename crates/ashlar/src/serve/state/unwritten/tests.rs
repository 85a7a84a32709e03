use super::super::super::spares::Spares;
use super::super::DriveState;
use super::*;

fn pool(name: &str, drives: &[&str], spares: &[&str]) -> PoolState {
    let drive = |spec: &&str| DriveState { spec: (*spec).to_owned(), uuid: (*spec).to_owned() };
    let waiting = spares.iter().map(|spec| (*spec).to_owned()).collect();
    PoolState {
        name: name.to_owned(),
        uuid: "p".to_owned(),
        volatile: false,
        drives: drives.iter().map(drive).collect(),
        spares: Spares { waiting, ..Spares::default() },
    }
}

fn node(nsid_high: u32, pools: &[PoolState]) -> NodeState {
    NodeState { nsid_high, pools: pools.to_vec(), uuid: uuid::Uuid::nil(), ..NodeState::new() }
}

fn said(written: &NodeState, node: &NodeState) -> Vec<String> {
    unwritten(written, node).into_iter().map(|unwritten| unwritten.what).collect()
}

#[test]
fn each_difference_that_a_start_would_not_know_has_its_words() {
    let tank = pool("tank", &["a", "b"], &["s"]);
    let known = node(3, std::slice::from_ref(&tank));
    let table: [(NodeState, &[&str]); 8] = [
        (known.clone(), &[]),
        (NodeState { starts: 9, ..known.clone() }, &[]),
        (node(3, &[pool("tank", &["b", "a"], &["s"])]), &[]),
        (node(3, &[]), &["that pool 'tank' is no longer one of this node"]),
        (
            node(3, &[pool("dozer", &["a", "b"], &["s"])]),
            &["that pool 'tank' is called 'dozer' now"],
        ),
        (node(3, &[pool("tank", &["a", "c"], &["s"])]), &["which drives pool 'tank' has now"]),
        (node(3, &[pool("tank", &["a", "b"], &[])]), &["which spares pool 'tank' has now"]),
        (node(4, &[tank]), &["that namespace numbers up to 4 are taken"]),
    ];
    for (now, words) in &table {
        assert_eq!(said(&known, now), *words);
    }
    assert_eq!(said(&node(3, &[]), &known), ["that pool 'tank' is one of this node"]);
    assert_eq!(unwritten(&node(3, &[]), &known)[0].pool.as_deref(), Some("p"));
    // A number that was taken back is passed over, and that does no harm.
    assert!(said(&known, &NodeState { nsid_high: 2, ..known.clone() }).is_empty());
}
