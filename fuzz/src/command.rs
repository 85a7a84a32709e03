//! Commands and what they carry: a command that was understood is understood the same after it was
//! written.

use ashlar_nvme::admin::{self, AdminCommand, FeatureSelect, FormatNvm, GetLogPage, Identify};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::fabrics::{
    AuthTransfer, CNTLID_DYNAMIC, CONNECT_DATA_BYTES, Connect, ConnectData, FABRICS_OPCODE,
    FabricsCommand, PropertyWidth,
};
use ashlar_nvme::feature::QueueCounts;
use ashlar_nvme::identify::{
    IDENTIFY_BYTES, descriptor_list, namespaces_of_list, parse_descriptors,
};
use ashlar_nvme::io::{BlockRange, DSM_RANGE_BYTES, DsmRange, IoCommand};
use ashlar_nvme::property::{Capabilities, ControllerStatus};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, SQE_BYTES, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::text::{ascii_trimmed, nqn_field, nqn_of_field};
use ashlar_nvme::zerocopy::{FromBytes, IntoBytes};

use super::replay::Seed;

/// Reads a command as each queue would, and its data as each command would.
pub fn check(input: &[u8]) {
    let Some((command, data)) = input.split_at_checked(SQE_BYTES) else { return };
    let sqe = Sqe::read_from_bytes(command).expect("64 bytes");
    assert_eq!(sqe.as_bytes(), command);
    check_fields(&sqe);
    check_admin(&sqe);
    check_io(&sqe);
    check_fabrics(&sqe);
    check_data(data);
}

fn check_fields(sqe: &Sqe) {
    let _ = sqe.check_data_pointer();
    if let Ok(fuse) = sqe.fuse() {
        let mut again = *sqe;
        again.set_fuse(fuse);
        assert_eq!(again, *sqe);
    }
    if let Ok(location) = sqe.sgl.location() {
        assert_eq!(location.length(), sqe.sgl.length.get());
    }
    let dword = sqe.cdw(11);
    if let Some(counts) = QueueCounts::from_bits(dword) {
        assert_eq!(counts.bits(), dword);
    }
    if let Some(event) = AsyncEvent::from_result(dword) {
        assert_eq!(AsyncEvent::from_result(event.result()), Some(event));
    }
    let capabilities = Capabilities::from_bits(sqe.cdw_10_11());
    assert_eq!(Capabilities::from_bits(capabilities.bits()), capabilities);
    let state = ControllerStatus::from_bits(dword);
    assert_eq!(ControllerStatus::from_bits(state.bits()), state);
    let status = Status::from_bits(dword as u16 & 0x7fff);
    assert_eq!(Status::from_bits(status.bits()), status);
}

fn check_admin(sqe: &Sqe) {
    if let Ok(command) = AdminCommand::parse(sqe) {
        let again = command.to_sqe(sqe.cid(), sqe.nsid.get());
        assert_eq!(AdminCommand::parse(&again), Ok(command));
    }
}

fn check_io(sqe: &Sqe) {
    if let Ok(command) = IoCommand::parse(sqe) {
        let again = command.to_sqe(sqe.cid(), sqe.nsid.get());
        assert_eq!(IoCommand::parse(&again), Ok(command));
    }
}

fn check_fabrics(sqe: &Sqe) {
    if let Ok(command) = FabricsCommand::parse(sqe) {
        let again = command.to_sqe(sqe.cid(), sqe.sgl);
        assert_eq!(FabricsCommand::parse(&again), Ok(command));
    }
}

fn check_data(data: &[u8]) {
    check_connect_data(data);
    for range in data.chunks_exact(DSM_RANGE_BYTES) {
        let read = DsmRange::read_from_bytes(range).expect("a whole range");
        assert_eq!(read.as_bytes(), range);
    }
    assert!(namespaces_of_list(data).count() <= data.len() / 4);
    let descriptors = parse_descriptors(&data[..data.len().min(IDENTIFY_BYTES)]);
    assert_eq!(parse_descriptors(&descriptor_list(&descriptors)), descriptors);
    assert!(ascii_trimmed(data).len() <= 3 * data.len());
}

fn check_connect_data(data: &[u8]) {
    let Some(bytes) = data.get(..CONNECT_DATA_BYTES) else { return };
    let connect = ConnectData::read_from_bytes(bytes).expect("whole data");
    for field in [connect.subsystem_nqn, connect.host_nqn] {
        if let Some(name) = nqn_of_field(&field) {
            assert_eq!(nqn_of_field(&nqn_field::<256>(name)), Some(name));
        }
    }
}

/// One of each command, with the data that belong to it.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = admin_seeds();
    seeds.extend(io_seeds());
    seeds.extend(fabrics_seeds());
    seeds
}

fn plain(sqe: Sqe) -> Vec<u8> {
    sqe.as_bytes().to_vec()
}

fn admin_seeds() -> Vec<Seed> {
    let identify = Identify { cns: 3, controller_id: 1, specific_id: 0, command_set: 0 };
    let log = GetLogPage {
        page: 2,
        specific: 1,
        specific_id: 0,
        retain_event: true,
        bytes: 512,
        offset: 4,
        offset_is_index: false,
        command_set: 0,
    };
    let format = FormatNvm { lba_format: 17, metadata_settings: 0, secure_erase: 1 };
    let get =
        AdminCommand::GetFeatures { feature: 7, select: FeatureSelect::Supported, parameter: 0 };
    let set = AdminCommand::SetFeatures { feature: 7, save: true, parameter: 0x0003_0003 };
    let list = descriptor_list(&[ashlar_nvme::identify::NamespaceDescriptor::Uuid([5; 16])]);
    let identify = plain(AdminCommand::Identify(identify).to_sqe(Cid(1), 1));
    let of = |command: AdminCommand| plain(command.to_sqe(Cid(1), 1));
    vec![
        ("identify", [&identify[..], &list[..64]].concat()),
        ("get-log-page", of(AdminCommand::GetLogPage(log))),
        ("get-features", of(get)),
        ("set-features", of(set)),
        ("abort", of(AdminCommand::Abort { queue_id: 1, cid: Cid(9) })),
        ("keep-alive", of(AdminCommand::KeepAlive)),
        ("async-event-request", of(AdminCommand::AsyncEventRequest)),
        ("format", of(AdminCommand::Format(format))),
        ("sanitize", of(AdminCommand::Sanitize(admin::Sanitize(2)))),
        ("vendor", plain(Sqe::new(admin::opcode::FORMAT_NVM | 0x53, Cid(1), 1))),
    ]
}

fn io_seeds() -> Vec<Seed> {
    let range = BlockRange { start: 1 << 33, count: 65_536 };
    let deallocate = IoCommand::DatasetManagement { range_count: 2, deallocate: true };
    let of = |command: IoCommand| plain(command.to_sqe(Cid(1), 1));
    let zeroes = IoCommand::WriteZeroes { range, deallocate: true, force_unit_access: true };
    vec![
        ("read", of(IoCommand::Read(range))),
        ("write", of(IoCommand::Write { range, force_unit_access: true })),
        ("compare", of(IoCommand::Compare(range))),
        ("verify", of(IoCommand::Verify(range))),
        ("flush", of(IoCommand::Flush)),
        ("write-zeroes", of(zeroes)),
        ("dataset-management", [of(deallocate), vec![1; 2 * DSM_RANGE_BYTES]].concat()),
    ]
}

fn fabrics_seeds() -> Vec<Seed> {
    let connect = Connect {
        record_format: 0,
        queue_id: 1,
        sq_size: 127,
        disable_sq_flow_control: true,
        keep_alive_ms: 5000,
    };
    let data = ConnectData::new(
        [7; 16],
        CNTLID_DYNAMIC,
        "nqn.2014-08.org.example:a",
        "nqn.2014-08.org.example:b",
    );
    let auth = AuthTransfer {
        protocol_specific_0: 1,
        protocol_specific_1: 1,
        security_protocol: 0xe9,
        length: 4096,
    };
    let of = |command: FabricsCommand| {
        let sqe = command.to_sqe(Cid(1), SglDescriptor::transport(0));
        assert_eq!(sqe.opcode, FABRICS_OPCODE);
        plain(sqe)
    };
    let width = PropertyWidth::Eight;
    vec![
        ("connect", [&of(FabricsCommand::Connect(connect))[..], data.as_bytes()].concat()),
        ("property-get", of(FabricsCommand::PropertyGet { offset: 0, width })),
        (
            "property-set",
            of(FabricsCommand::PropertySet { offset: 0x14, width, value: 0x0046_0001 }),
        ),
        ("disconnect", of(FabricsCommand::Disconnect { record_format: 0 })),
        ("auth-send", of(FabricsCommand::AuthSend(auth))),
        ("auth-receive", of(FabricsCommand::AuthReceive(auth))),
    ]
}
