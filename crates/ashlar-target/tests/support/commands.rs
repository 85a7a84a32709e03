//! What hosts ask a controller and its namespaces for.

use ashlar_nvme::admin::{AdminCommand, GetLogPage, Identify};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::Status;

use super::Queue;

impl Queue {
    pub fn admin_command(
        &mut self,
        command: AdminCommand,
        nsid: u32,
        length: u32,
    ) -> (Status, u32, Vec<u8>) {
        let mut sqe = command.to_sqe(self.next(), nsid);
        sqe.sgl = SglDescriptor::transport(length);
        let (cqe, data) = self.exchange(sqe, &[]);
        (cqe.status(), cqe.result.get() as u32, data)
    }

    pub fn identify(&mut self, cns: u8, nsid: u32) -> (Status, Vec<u8>) {
        let identify = Identify { cns, controller_id: 0, specific_id: 0, command_set: 0 };
        let (status, _, data) = self.admin_command(AdminCommand::Identify(identify), nsid, 4096);
        (status, data)
    }

    pub fn log(&mut self, page: u8, bytes: u64, offset: u64) -> (Status, Vec<u8>) {
        let get = GetLogPage {
            page,
            specific: 0,
            specific_id: 0,
            retain_event: false,
            bytes,
            offset,
            offset_is_index: false,
            command_set: 0,
        };
        let (status, _, data) = self.admin_command(AdminCommand::GetLogPage(get), 0, bytes as u32);
        (status, data)
    }

    /// An I/O command on namespace 1; `data` go by R2T.
    pub fn io_command(&mut self, command: IoCommand, data: &[u8]) -> (Status, Vec<u8>) {
        let length = match command {
            IoCommand::Read(range) => range.count * 4096,
            _ => data.len() as u32,
        };
        let mut sqe = command.to_sqe(self.next(), 1);
        sqe.sgl = SglDescriptor::transport(length);
        let (cqe, read) = self.exchange(sqe, data);
        (cqe.status(), read)
    }

    pub fn write_sqe(&mut self, lba: u64, sgl: SglDescriptor) -> Sqe {
        let count = sgl.length.get() / 4096;
        let write =
            IoCommand::Write { range: BlockRange { start: lba, count }, force_unit_access: false };
        let mut sqe = write.to_sqe(self.next(), 1);
        sqe.sgl = sgl;
        sqe
    }

    pub fn write(&mut self, lba: u64, data: &[u8]) -> Status {
        let sqe = self.write_sqe(lba, SglDescriptor::transport(data.len() as u32));
        self.exchange(sqe, data).0.status()
    }

    pub fn read(&mut self, lba: u64, count: u32) -> (Status, Vec<u8>) {
        self.io_command(IoCommand::Read(BlockRange { start: lba, count }), &[])
    }
}
