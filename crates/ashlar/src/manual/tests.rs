use std::fs;

use super::*;

#[test]
fn each_command_has_a_page_with_its_options_and_examples() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path()).unwrap();
    for (page, says) in [
        ("ashlar.1", "NVMe/TCP"),
        ("ashlar-pool-create.1", "ashlar pool create tank"),
        ("ashlar-volume-allow.1", "NQN"),
    ] {
        let text = fs::read_to_string(directory.path().join(page)).unwrap();
        // Roff writes a dash as a letter of its own.
        let text = text.replace("\\-", "-");
        assert!(text.starts_with(".ie") || text.contains(".TH"), "{page}");
        assert!(text.contains(says), "{page}: {text}");
    }
    let said = write(Path::new("/nowhere/man1")).unwrap_err().to_string();
    assert!(said.contains("/nowhere/man1"), "{said}");
}
