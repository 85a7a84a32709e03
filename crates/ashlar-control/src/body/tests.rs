use super::*;
use crate::types::{ChangePool, CreateVolume, NameHosts};

fn why<T: DeserializeOwned>(body: &str) -> String {
    let said = understand::<T>(body.as_bytes()).err().unwrap_or_else(|| panic!("{body} is taken"));
    for leak in
        ["`", "deserialize", "struct", "u64", "u32", "u8", "invalid type", "boolean", "sequence"]
    {
        assert!(!said.contains(leak), "'{leak}' is the decoder's: {said}");
    }
    said
}

#[test]
fn what_is_wrong_with_a_body_is_said_in_our_words() {
    let volume =
        |field: &str| format!(r#"{{"pool":"tank","name":"v0","size_bytes":4096,{field}}}"#);
    for (body, part) in [
        ("".to_owned(), "has no body"),
        ("{".to_owned(), "not JSON: it goes wrong at line 1, column 1"),
        ("[]".to_owned(), "is a list, and has to be an object"),
        ("null".to_owned(), "is null"),
        (r#"{"pool":"tank","name":"v0"}"#.to_owned(), "lacks 'size_bytes'"),
        (
            volume(r#""size":1"#),
            "'size', which is unknown here: it may have pool, name, size_bytes",
        ),
        (
            volume(r#""lba_bytes":"4096""#),
            "'lba_bytes' is a text, and has to be a whole number from 0 to 4294967295",
        ),
        (volume(r#""lba_bytes":-1"#), "'lba_bytes' is -1, and has to be a whole number"),
        (volume(r#""compression":1"#), "'compression' is 1, and has to be a text"),
        (volume(r#""allow":"any""#), "'allow' is a text, and has to be a list"),
        (volume(r#""allow":[1]"#), "'allow' is a list, and has to be a text"),
    ] {
        let said = why::<CreateVolume>(&body);
        assert!(said.contains(part), "{body}: {said}");
    }
}

#[test]
fn bodies_of_other_requests_are_refused_likewise() {
    let said = why::<ChangePool>(r#"{"recon_prio_percent":256}"#);
    assert!(
        said.contains("'recon_prio_percent' is 256, and has to be a whole number from 0 to 255"),
        "{said}"
    );
    let said = why::<ChangePool>(r#"{"recon-prio":10}"#);
    assert!(
        said.contains("'recon-prio', which is unknown here: it may have recon_prio_percent"),
        "{said}"
    );
    let said = why::<NameHosts>(r#"{"hosts":null}"#);
    assert!(said.contains("'hosts' is null, and has to be a list"), "{said}");
    assert!(why::<NameHosts>("{}").contains("lacks 'hosts'"));
}
