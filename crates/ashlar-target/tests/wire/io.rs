//! The NVM command set, and its errors exactly.

use ashlar_block::Cause;
use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::fabrics::Connect;
use ashlar_nvme::io::{BlockRange, DsmRange, IoCommand};
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Fuse, NSID_ALL};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::{Queue, Rig, VOLUME_BYTES, connect_command, eventually, pattern};

const BLOCKS: u64 = VOLUME_BYTES / 4096;

fn range(start: u64, count: u32) -> BlockRange {
    BlockRange { start, count }
}

fn zeroes(start: u64, count: u32) -> IoCommand {
    IoCommand::WriteZeroes {
        range: range(start, count),
        deallocate: true,
        force_unit_access: false,
    }
}

#[test]
fn data_of_every_size_come_back_as_they_were_written() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for (seed, blocks) in [1_u32, 2, 4, 5, 31, 32, 33, 255, 256].into_iter().enumerate() {
        let data = pattern(blocks as usize * 4096, seed as u32);
        assert_eq!(io.write(7, &data), Status::SUCCESS);
        assert_eq!(io.read(7, blocks), (Status::SUCCESS, data));
    }
}

#[test]
fn sectors_of_512_bytes_are_written_one_by_one() {
    let rig = Rig::start();
    rig.door.add(
        Nsid(1),
        MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(VOLUME_BYTES) },
    );
    let (_admin, mut io) = rig.host();
    let write = IoCommand::Write { range: range(9, 1), force_unit_access: true };
    let mut sqe = write.to_sqe(io.cid(), 1);
    sqe.sgl = SglDescriptor::in_capsule(512);
    assert_eq!(io.exchange(sqe, &[3; 512]).0.status(), Status::SUCCESS);
    let mut sqe = IoCommand::Read(range(8, 3)).to_sqe(io.cid(), 1);
    sqe.sgl = SglDescriptor::transport(1536);
    let read = io.exchange(sqe, &[]).1;
    assert_eq!((read[511], read[512], read[1023], read[1024]), (0, 3, 3, 0));
}

// blktests 018: out-of-range access.
#[test]
fn ranges_beyond_the_end_are_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let out_of_range = Status::LBA_OUT_OF_RANGE.dnr().more();
    for start in [BLOCKS - 1, BLOCKS, u64::MAX / 4096, u64::MAX] {
        assert_eq!(io.read(start, 2).0, out_of_range, "{start}");
        assert_eq!(io.write(start, &[0; 8192]), out_of_range);
        assert_eq!(io.io_command(zeroes(start, 2), &[]).0, out_of_range);
        assert_eq!(io.io_command(IoCommand::Verify(range(start, 2)), &[]).0, out_of_range);
        assert_eq!(io.io_command(IoCommand::Compare(range(start, 2)), &[0; 8192]).0, out_of_range);
    }
    assert_eq!(io.read(BLOCKS - 1, 1).0, Status::SUCCESS);
}

#[test]
fn transfers_above_mdts_are_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.read(0, 256).0, Status::SUCCESS);
    assert_eq!(io.read(0, 257).0, Status::INVALID_FIELD.dnr().more());
    assert_eq!(io.io_command(zeroes(0, 8192), &[]).0, Status::SUCCESS, "32 MiB");
    assert_eq!(io.io_command(zeroes(0, 8193), &[]).0, Status::INVALID_FIELD.dnr().more());
}

#[test]
fn namespaces_that_are_not_there_are_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for nsid in [0, 2, NSID_ALL] {
        let mut sqe = IoCommand::Read(range(0, 1)).to_sqe(io.cid(), nsid);
        sqe.sgl = SglDescriptor::transport(4096);
        assert_eq!(
            io.exchange(sqe, &[]).0.status(),
            Status::INVALID_NAMESPACE.dnr().more(),
            "{nsid}"
        );
    }
}

#[test]
fn lengths_that_do_not_match_their_blocks_are_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let invalid = Status::SGL_LENGTH_INVALID;
    let mut sqe = IoCommand::Read(range(0, 2)).to_sqe(io.cid(), 1);
    sqe.sgl = SglDescriptor::transport(4096);
    assert_eq!(io.exchange(sqe, &[]).0.status().code(), invalid);
    let mut write = io.write_sqe(0, SglDescriptor::transport(8192));
    write.sgl = SglDescriptor::transport(4096);
    assert_eq!(io.exchange(write, &[]).0.status().code(), invalid);
    // The SGL promises more in the capsule than is there.
    let write = io.write_sqe(0, SglDescriptor::in_capsule(8192));
    io.send_command(write, &[1; 4096]);
    assert_eq!(io.finish(&[]).0.status().code(), invalid);
    let mut keyed = io.write_sqe(0, SglDescriptor::transport(4096));
    keyed.sgl.kind = 0x40;
    assert_eq!(io.exchange(keyed, &[]).0.status().code(), Status::SGL_TYPE_INVALID);
    let mut prp = io.write_sqe(0, SglDescriptor::transport(4096));
    prp.flags = 0;
    assert_eq!(io.exchange(prp, &[]).0.status().code(), Status::INVALID_FIELD);
}

#[test]
fn write_zeroes_and_deallocation_make_zeros() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 65536]), Status::SUCCESS);
    assert_eq!(io.io_command(zeroes(2, 2), &[]).0, Status::SUCCESS);
    let ranges = [(5_u64, 1_u32), (8, 3), (0, 0)].map(|(start, count)| DsmRange {
        attributes: 0.into(),
        count: count.into(),
        start: start.into(),
    });
    let dsm = IoCommand::DatasetManagement { range_count: 3, deallocate: true };
    assert_eq!(io.io_command(dsm, ranges.as_bytes()).0, Status::SUCCESS);
    let read = io.read(0, 16).1;
    let zero: Vec<usize> = (0..16).filter(|block| read[block * 4096] == 0).collect();
    assert_eq!(zero, [2, 3, 5, 8, 9, 10]);
}

// blktests 019. Linux sends room for 256 ranges with every Dataset Management, however many there
// are.
#[test]
fn ranges_come_with_as_much_room_as_linux_sends() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let mut data = [0; 4096];
    let one = DsmRange { attributes: 0.into(), count: 1.into(), start: 0.into() };
    data[..16].copy_from_slice(one.as_bytes());
    let dsm = IoCommand::DatasetManagement { range_count: 1, deallocate: true };
    assert_eq!(io.io_command(dsm, &data).0, Status::SUCCESS);
    assert_eq!(io.read(0, 1).1, [0; 4096]);
    assert_eq!(io.io_command(dsm, &data[..12]).0.code(), Status::SGL_LENGTH_INVALID);
}

#[test]
fn one_range_beyond_the_end_and_none_is_deallocated() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let ranges = [(0, 1), (BLOCKS, 1)].map(|(start, count): (u64, u32)| DsmRange {
        attributes: 0.into(),
        count: count.into(),
        start: start.into(),
    });
    let dsm = IoCommand::DatasetManagement { range_count: 2, deallocate: true };
    assert_eq!(io.io_command(dsm, ranges.as_bytes()).0.code(), Status::LBA_OUT_OF_RANGE);
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    let hint = IoCommand::DatasetManagement { range_count: 1, deallocate: false };
    assert_eq!(io.io_command(hint, ranges[0].as_bytes()).0, Status::SUCCESS);
    assert_eq!(io.read(0, 1).1, [1; 4096], "without AD nothing is deallocated");
}

#[test]
fn compare_tells_whether_the_data_are_the_same() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let compare = IoCommand::Compare(range(3, 2));
    assert_eq!(io.io_command(compare, &[0; 8192]).0, Status::SUCCESS);
    assert_eq!(io.io_command(compare, &[1; 8192]).0, Status::COMPARE_FAILURE.dnr().more());
}

// blktests 014: flush from a host.
#[test]
fn flush_takes_one_namespace_or_all() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for (nsid, want) in
        [(1, Status::SUCCESS), (NSID_ALL, Status::SUCCESS), (5, Status::INVALID_NAMESPACE)]
    {
        let sqe = IoCommand::Flush.to_sqe(io.cid(), nsid);
        assert_eq!(io.exchange(sqe, &[]).0.status().code(), want);
    }
}

/// Sends Compare and Write as one fused pair, and returns both statuses in the order of their
/// answers.
fn fused(io: &mut Queue, in_capsule: bool, expected: &[u8], data: &[u8]) -> [(u16, Status); 2] {
    let count = (data.len() / 4096) as u32;
    let length = data.len() as u32;
    let sgl = if in_capsule {
        SglDescriptor::in_capsule(length)
    } else {
        SglDescriptor::transport(length)
    };
    let mut compare = IoCommand::Compare(range(0, count)).to_sqe(io.cid(), 1);
    let mut write = io.write_sqe(0, sgl);
    compare.sgl = sgl;
    compare.set_fuse(Fuse::First);
    write.set_fuse(Fuse::Second);
    io.send_command(compare, if in_capsule { expected } else { &[] });
    io.send_command(write, if in_capsule { data } else { &[] });
    let first = io.finish(expected).0;
    let second = io.finish(data).0;
    [first, second].map(|cqe| (cqe.cid.get().wrapping_sub(compare.cid.get()), cqe.status()))
}

#[test]
fn compare_and_write_are_one() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let done = fused(&mut io, true, &[0; 4096], &[1; 4096]);
    assert_eq!(done, [(0, Status::SUCCESS), (1, Status::SUCCESS)]);
    let late = fused(&mut io, true, &[0; 4096], &[2; 4096]);
    assert_eq!(
        late,
        [(0, Status::COMPARE_FAILURE.dnr().more()), (1, Status::ABORTED_FAILED_FUSED)]
    );
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    let too_large = fused(&mut io, false, &vec![0; 512 << 10], &vec![0; 512 << 10]);
    assert_eq!(too_large[0].1.code(), Status::ATOMIC_WRITE_UNIT_EXCEEDED);
}

#[test]
fn half_a_fused_pair_is_aborted() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let mut second = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    second.set_fuse(Fuse::Second);
    assert_eq!(io.exchange(second, &[1; 4096]).0.status().code(), Status::ABORTED_MISSING_FUSED);
    let mut first = IoCommand::Compare(range(0, 1)).to_sqe(io.cid(), 1);
    first.sgl = SglDescriptor::in_capsule(4096);
    first.set_fuse(Fuse::First);
    io.send_command(first, &[0; 4096]);
    let flush = IoCommand::Flush.to_sqe(io.cid(), 1);
    io.send_command(flush, &[]);
    let (aborted, flushed) = (io.finish(&[]).0, io.finish(&[]).0);
    assert_eq!((aborted.cid, aborted.status().code()), (first.cid, Status::ABORTED_MISSING_FUSED));
    assert_eq!((flushed.cid, flushed.status()), (flush.cid, Status::SUCCESS));
    assert_eq!(io.read(0, 1).1, [0; 4096]);
}

#[test]
fn a_failing_store_is_told_exactly() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let cases = [
        (Cause::CapacityExceeded, Status::CAPACITY_EXCEEDED),
        (Cause::Unrecovered, Status::UNRECOVERED_READ_ERROR.dnr()),
        (Cause::WriteFault, Status::WRITE_FAULT),
        (Cause::NotReady, Status::NAMESPACE_NOT_READY),
        (Cause::Internal, Status::INTERNAL_ERROR),
    ];
    for (cause, status) in cases {
        rig.volume.fail_with(Some(cause));
        assert_eq!(io.write(0, &[1; 4096]), status.more(), "{cause:?}");
        assert_eq!(io.read(0, 1), (status.more(), Vec::new()), "never wrong data");
        assert_eq!(
            io.io_command(IoCommand::Flush, &[]).0,
            status.more(),
            "a flush that fails says so"
        );
    }
    rig.volume.fail_with(None);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn reads_wait_for_memory_and_all_are_answered() {
    let limits = ashlar_target::nvme_tcp::Limits {
        connection_bytes_max: 4 << 20,
        ..ashlar_target::nvme_tcp::Limits::default()
    };
    let rig = Rig::with_limits(limits);
    let (_admin, mut io) = rig.host();
    rig.volume.hold(true);
    for _ in 0..16 {
        let mut sqe = IoCommand::Read(range(0, 256)).to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::transport(1 << 20);
        io.send_command(sqe, &[]);
    }
    eventually("four reads run", || rig.volume.held_count() == 4);
    rig.volume.hold(false);
    for _ in 0..16 {
        assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
    }
}

// More than a connection may keep in shared receive buffers, so that some data stay there and
// others are copied.
#[test]
fn writes_that_wait_keep_their_data_and_let_others_be_served() {
    const WRITES: u64 = 120;
    let rig = Rig::start();
    rig.door.add(Nsid(2), MemoryVolumeOptions::new(VOLUME_BYTES));
    let admin = rig.admin();
    let large = Connect { sq_size: WRITES as u16, ..connect_command(1) };
    let mut slow = Queue::io_with(rig.io, &admin, large, Digests::NONE);
    rig.volume.hold(true);
    for lba in 0..WRITES {
        let sqe = slow.write_sqe(lba, SglDescriptor::in_capsule(4096));
        slow.send_command(sqe, &pattern(4096, lba as u32));
    }
    eventually("all writes wait", || rig.volume.held_count() == WRITES as usize);
    let mut other = Queue::io(rig.io, &admin, 2);
    for seed in 1000..1100 {
        let mut sqe = other.write_sqe(0, SglDescriptor::in_capsule(8192));
        sqe.nsid = 2.into();
        assert_eq!(other.exchange(sqe, &pattern(8192, seed)).0.status(), Status::SUCCESS);
    }
    rig.volume.hold(false);
    (0..WRITES).for_each(|_| assert_eq!(slow.finish(&[]).0.status(), Status::SUCCESS));
    for lba in 0..WRITES {
        assert_eq!(slow.read(lba, 1), (Status::SUCCESS, pattern(4096, lba as u32)), "{lba}");
    }
}

#[test]
fn data_that_a_command_does_not_take_keep_no_receive_buffer() {
    const COMMANDS: u64 = 16;
    let mut rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    let data = pattern(4096, 1);
    for _ in 0..4 {
        let mut sqe = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
        sqe.sgl = SglDescriptor::in_capsule(4096);
        admin.send_command(sqe, &data);
    }
    assert_eq!(admin.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
    rig.volume.hold(true);
    for lba in 0..COMMANDS {
        let read = IoCommand::Read(BlockRange { start: lba, count: 1 });
        let mut sqe = read.to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::transport(4096);
        io.send_command(sqe, &data);
    }
    eventually("all reads wait", || rig.volume.held_count() == COMMANDS as usize);
    assert_eq!(rig.stats().recv_held, 0);
    let write = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(write, &data);
    eventually("the write waits", || rig.volume.held_count() == COMMANDS as usize + 1);
    assert_eq!(rig.stats().recv_held, 1, "a write keeps its data");
    rig.volume.hold(false);
    (0..=COMMANDS).for_each(|_| assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS));
    assert_eq!(rig.stats().recv_held, 0);
}

#[test]
fn what_was_never_written_is_sent_with_the_digest_of_as_many_zeros() {
    let rig = Rig::start();
    let admin = rig.admin();
    let digests = Digests { header: true, data: true };
    let mut io = Queue::io_with(rig.io, &admin, connect_command(1), digests);
    assert_eq!(io.write(1, &pattern(4096, 7)), Status::SUCCESS);
    for blocks in [1_u32, 2, 2, 256, 1] {
        assert_eq!(io.read(2, blocks), (Status::SUCCESS, vec![0; blocks as usize * 4096]));
        assert_eq!(io.read(1, 1), (Status::SUCCESS, pattern(4096, 7)));
    }
}
