use std::io::Read;
use std::time::Duration;

use flate2::read::GzDecoder;

use super::*;

#[test]
fn a_bundle_lists_what_it_has_and_what_it_lacks() {
    let made_at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut bundle = Bundle::new("ashlar-support-a", made_at);
    bundle.add("api/status.json", "GET /status", Ok(b"{}")).unwrap();
    bundle.add("logs/kernel.txt", "journalctl", Err("it is not there")).unwrap();
    let (bytes, parts, missing) = bundle.finish().unwrap();
    assert_eq!((parts, missing.len()), (1, 1));
    let mut archive = tar::Archive::new(GzDecoder::new(&bytes[..]));
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o600);
        assert_eq!(entry.header().mtime().unwrap(), 1_700_000_000);
        let path = entry.path().unwrap().display().to_string();
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        found.push((path, content));
    }
    assert_eq!(found[0], ("ashlar-support-a/api/status.json".to_owned(), "{}".to_owned()));
    assert_eq!(found[1].0, "ashlar-support-a/contents.json");
    let list: serde_json::Value = serde_json::from_str(&found[1].1).unwrap();
    assert_eq!(list["made_at"], "2023-11-14T22:13:20Z");
    assert_eq!(list["parts"][0]["bytes"], 2);
    assert_eq!(list["missing"][0]["why"], "it is not there");
}
