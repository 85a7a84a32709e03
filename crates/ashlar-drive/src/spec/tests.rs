use super::*;

fn parse(text: &str) -> DriveSpec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<DriveSpec>().expect_err(text).to_string()
}

#[test]
fn every_kind_is_read_and_printed_again() {
    for text in [
        "/dev/nvme1n1",
        "file:/d/0.img",
        "file:/d/0.img,size=4GiB",
        "file:relative/0.img,size=4GiB,sparse=on",
        "mem:4GiB",
        "null:1TiB",
        "mem:16781312",
        "mem:4GiB,touched=on,model=nvme-gen4",
        "file:/d/0.img,size=4GiB,model=/etc/slow.toml",
        "file:/d/a\\,b.img,size=4GiB",
        "file:/d/a\\\\,size=4GiB",
        "file:/d/a\nb\\,",
        "/dev/disk/by-partlabel/EFI\\x20System",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(parse("mem:size=4GiB"), parse("mem:4GiB"));
    assert_eq!(parse("file:/a,sparse=off,size=1GiB"), parse("file:/a,size=1024MiB"));
}

#[test]
fn each_error_names_the_text_and_says_what_is_right() {
    let cases = [
        ("", "is not a drive"),
        ("nvme1n1", "/dev/nvme1n1"),
        ("disk:/dev/sda", "file:/d/0.img,size=4GiB"),
        ("file:", "names no file"),
        ("file:,size=4GiB", "names no file"),
        ("file:/a,size=4GiB,size=5GiB", "'size' is given twice"),
        ("file:/a,color=red", "there is no option 'color=red'"),
        ("file:/a,sparse", "a file has size=SIZE, sparse=on|off and model=MODEL"),
        ("file:/a,sparse=yes", "'yes' is neither on nor off"),
        ("mem:1GiB,touched=maybe", "'maybe' is neither on nor off"),
        ("mem:1GiB,sparse=on", "memory has a size, touched=on|off and model=MODEL"),
        ("mem:", "has no size"),
        (
            "mem:1GiB,model=floppy",
            "it is one of nvme-gen4, csd-like, sata-ssd, nlsas-hdd, or the path of a profile",
        ),
        ("mem:1GiB,model=nvme-gen4,model=sata-ssd", "'model' is given twice"),
        ("mem:model=x", "there is no option 'model=x'"),
        ("mem:0", "too small"),
        ("mem:1MiB", "at least 16MiB"),
        ("file:/a,size=16777217", "16777216 would be"),
        ("file:/a,b.img,size=4GiB", "a comma within its path is written \\,"),
    ];
    for (text, wanted) in cases {
        let error = error(text);
        assert!(error.contains(wanted) && error.contains(text), "{text}: {error}");
    }
}

#[test]
fn a_size_that_is_none_keeps_its_cause() {
    let error = "mem:lots".parse::<DriveSpec>().unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("'lots' is not a size"), "{cause}");
}

#[test]
fn a_path_may_have_commas_and_backslashes() {
    let path = |text: &str| match parse(text) {
        DriveSpec::File { path, .. } | DriveSpec::Block { path } => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(path("file:/d/a\\,b.img,size=4GiB").to_str(), Some("/d/a,b.img"));
    assert_eq!(path("/dev/mapper/a,b").to_str(), Some("/dev/mapper/a,b"));
    assert_eq!(path("/dev/mapper/a\\,b").to_str(), Some("/dev/mapper/a,b"));
    assert_eq!(path("file:/d/a\\\\,sparse=on").to_str(), Some("/d/a\\"));
}
