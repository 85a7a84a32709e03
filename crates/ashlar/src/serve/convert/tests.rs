use super::*;

#[test]
fn what_waits_or_cannot_go_on_is_not_being_rebuilt() {
    let progress = |obstacle| ashlar_store::Progress {
        bytes_done: 1,
        bytes_left: 9,
        remaining: None,
        obstacle,
    };
    let goes_on = progress(None);
    let waits = [ashlar_store::Obstacle::NoRoom, ashlar_store::Obstacle::Unreadable]
        .map(|met| progress(Some(met)));
    assert!(is_going_on(Some(&goes_on), false));
    assert!(!is_going_on(Some(&goes_on), true), "a pool that takes no writes rebuilds nothing");
    assert!(
        !is_going_on(None, false),
        "of what was lost nothing can be restored, or nobody knows of the loss yet"
    );
    assert!(waits.iter().all(|progress| !is_going_on(Some(progress), false)));
}

#[test]
fn every_state_is_explained_to_operators_and_in_the_api() {
    let api = include_str!("../../../../ashlar-control/src/types.rs");
    let guide = include_str!("../../../../../docs/operations.md");
    let (pools, drives) = guide.split_once("## A drive").expect("both are there");
    let drives = drives.split_once("\n## ").expect("there is more").0;
    let list = |of: &str| {
        let fields: Vec<&str> = api.split("pub states: Vec<String>").collect();
        let field = fields.iter().find(|before| {
            before.rsplit("pub struct ").next().is_some_and(|it| it.starts_with(of))
        });
        field.expect("it has states").rsplit("/// How it is:").next().expect("the last").to_owned()
    };
    let (of_pools, of_drives) = state_words();
    for (words, text, api) in
        [(of_pools, pools, list("Pool ")), (of_drives, drives, list("PoolDrive "))]
    {
        for word in words {
            assert!(
                text.contains(&format!("`{word}`")),
                "docs/operations.md says nothing of `{word}`"
            );
            assert!(api.contains(&format!("`{word}`")), "the API says nothing of `{word}`: {api}");
        }
    }
}
