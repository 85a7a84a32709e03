use super::*;

#[test]
fn a_catalog_reads_back() {
    let volume = VolumeEntry {
        family: Family(4),
        layer: Layer(2),
        state: VolumeState::Deleting,
        blocks: 77,
        compression: true,
        attributes: Bytes::from_static(b"name"),
    };
    let catalog = Catalog {
        volumes: BTreeMap::from([(VolumeId(4), volume)]),
        next_id: 9,
        usages: BTreeMap::from([(Family(4), Usage { blocks: 1, slots: 2 })]),
        settings: Settings { recon_prio: 10 },
    };
    let bytes = catalog.encode();
    assert_eq!(Catalog::decode(&bytes), Ok(catalog));
    assert!((0..bytes.len()).all(|end| Catalog::decode(&bytes[..end]).is_err()));
}
