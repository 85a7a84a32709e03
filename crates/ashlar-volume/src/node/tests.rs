use super::*;

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
