use super::*;

const PATHS: [&str; 12] = [
    "/d/0.img",
    "/d/a,b.img",
    "/d/,",
    ",",
    "/d/a\\",
    "/d/a\\\\",
    "/d/a\\,b",
    "/d/a\\\\,b\\",
    "/dev/disk/by-partlabel/EFI\\x20System",
    "/d/a\nb",
    "/d/ä,\u{202e}",
    "",
];

#[test]
fn whatever_a_path_holds_it_is_the_same_when_it_is_read_again() {
    for path in PATHS {
        let text = escaped(path);
        assert_eq!(unescaped(&text), path, "{text}");
        assert_eq!(split_options(&text), (text.as_str(), None));
        let with_options = format!("{text},size=4GiB,sparse=on");
        assert_eq!(
            split_options(&with_options),
            (text.as_str(), Some("size=4GiB,sparse=on")),
            "{path}"
        );
    }
}

#[test]
fn a_path_without_commas_is_written_as_it_is() {
    for path in ["/d/0.img", "/dev/disk/by-partlabel/EFI\\x20System", "/d/a\\b"] {
        assert_eq!((escaped(path).as_str(), unescaped(path).as_str()), (path, path));
    }
    assert_eq!(escaped("/d/a,b"), "/d/a\\,b");
    assert_eq!(unescaped("/d/a\\"), "/d/a\\", "as somebody writes it who does not know better");
}

#[test]
fn a_drive_is_named_by_where_it_is_with_or_without_its_options() {
    let file = "file:/d/0.img,size=4GiB";
    for name in [file, "file:/d/0.img", "/d/0.img", "/d/0.img,size=4GiB"] {
        assert!(is_at(file, name), "{name}");
    }
    for name in ["0.img", "d/0.img", "file:/d/1.img", "/d/0.im", ""] {
        assert!(!is_at(file, name), "{name}");
    }
    assert!(is_at("/dev/nvme1n1", "/dev/nvme1n1") && !is_at("/dev/nvme1n1", "file:/dev/nvme1n1"));
}

#[test]
fn a_comma_in_a_path_is_no_end_of_it() {
    assert_eq!(path_of("file:/d/a\\,b.img,size=4GiB"), "file:/d/a\\,b.img");
    assert_eq!(path_of("/dev/mapper/a,b"), "/dev/mapper/a,b");
    let file = "file:/d/a\\,b.img,size=4GiB";
    assert!(
        is_at(file, "/d/a\\,b.img") && is_at(file, "file:/d/a\\,b.img") && !is_at(file, "/d/a")
    );
    assert!(
        is_at("/dev/mapper/a,b", "/dev/mapper/a,b") && !is_at("/dev/mapper/a,b", "/dev/mapper/a,c")
    );
}
