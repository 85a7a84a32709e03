//! What the fuzz targets of the format check, on their seeds and on mutations of them: see
//! `docs/fuzzing.md`.

#[path = "../../../fuzz/src/formats.rs"]
mod formats;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

const MUTATIONS: u64 = 20_000;

fn replay_all(target: &str, seeds: &[replay::Seed], check: fn(&[u8])) {
    replay::check_seed_files(target, seeds);
    replay::replay(target, MUTATIONS, check);
}

#[test]
fn superblocks_are_read_or_refused() {
    replay_all("superblock", &formats::superblock_seeds(), formats::superblock);
}

#[test]
fn heartbeats_are_read_or_refused() {
    replay_all("heartbeat", &formats::heartbeat_seeds(), formats::heartbeat);
}

#[test]
fn roots_are_read_or_refused() {
    replay_all("root", &formats::root_seeds(), formats::root);
}

#[test]
fn segment_tables_are_read_or_refused() {
    replay_all("segment_table", &formats::segment_table_seeds(), formats::segment_table);
}

#[test]
fn batch_headers_are_read_or_refused() {
    replay_all("batch_header", &formats::batch_header_seeds(), formats::batch_header);
}

#[test]
fn pages_of_the_map_are_read_or_refused() {
    replay_all("map_page", &formats::map_page_seeds(), formats::map_page);
    replay_all("index_leaf", &formats::index_leaf_seeds(), formats::index_leaf);
    replay_all("index_node", &formats::index_node_seeds(), formats::index_node);
}

#[test]
fn deltas_and_directories_are_read_or_refused() {
    replay_all("delta", &formats::delta_seeds(), formats::delta);
    replay_all("directory", &formats::directory_seeds(), formats::directory);
}

#[test]
fn catalogs_are_read_or_refused() {
    replay_all("catalog", &formats::catalog_seeds(), formats::catalog);
    replay_all(
        "catalog_directory",
        &formats::catalog_directory_seeds(),
        formats::catalog_directory,
    );
}
