//! Fabrics commands (Base 2.1, section 6) and the data of Connect.

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::sgl::SglDescriptor;
use crate::sqe::{Cid, Sqe};
use crate::status::Rejection;
use crate::text::nqn_field;

/// The opcode of all Fabrics commands.
pub const FABRICS_OPCODE: u8 = 0x7f;

/// CNTLID in Connect's data: the controller that the subsystem chooses (dynamic controller model).
pub const CNTLID_DYNAMIC: u16 = 0xffff;

/// Bytes of Connect's data.
pub const CONNECT_DATA_BYTES: usize = 1024;

mod fctype {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const AUTH_SEND: u8 = 0x05;
    pub const AUTH_RECEIVE: u8 = 0x06;
    pub const DISCONNECT: u8 = 0x08;
}

/// Width of a property access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyWidth {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

/// Connect (section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connect {
    /// RECFMT: only 0 exists.
    pub record_format: u16,
    /// The queue to make: 0 is the admin queue and makes a controller.
    pub queue_id: u16,
    /// SQSIZE, 0's based: one less than the entries of the queue.
    pub sq_size: u16,
    /// CATTR: SQ flow control is off; answers say nothing of the queue's head.
    pub disable_sq_flow_control: bool,
    /// KATO in milliseconds; 0 means none.
    pub keep_alive_ms: u32,
}

/// Authentication Send or Receive (sections 6.1 and 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthTransfer {
    /// SPSP0.
    pub protocol_specific_0: u8,
    /// SPSP1.
    pub protocol_specific_1: u8,
    /// SECP.
    pub security_protocol: u8,
    /// TL or AL: bytes of the message.
    pub length: u32,
}

/// A Fabrics command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FabricsCommand {
    /// Makes a queue, and with the admin queue a controller.
    Connect(Connect),
    /// Reads a property.
    PropertyGet {
        /// Offset of the property.
        offset: u32,
        /// Its width.
        width: PropertyWidth,
    },
    /// Writes a property.
    PropertySet {
        /// Offset of the property.
        offset: u32,
        /// Its width.
        width: PropertyWidth,
        /// The value; only its low half counts for a width of 4.
        value: u64,
    },
    /// Ends the queue that it comes by.
    Disconnect {
        /// RECFMT: only 0 exists.
        record_format: u16,
    },
    /// Passes an authentication message.
    AuthSend(AuthTransfer),
    /// Fetches an authentication message.
    AuthReceive(AuthTransfer),
}

/// The bytes of Connect in its command dwords 10 to 12.
mod connect_byte {
    pub const CATTR_DISABLE_FLOW_CONTROL: u32 = 1 << 18;
}

/// Where a Connect's parameter stands, for the answer to an invalid one (section 6.3, IPO and
/// IATTR).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectParameter {
    /// QID, in the command.
    QueueId,
    /// SQSIZE, in the command.
    SqSize,
    /// CATTR, in the command.
    Attributes,
    /// KATO, in the command.
    KeepAlive,
    /// HOSTID, in the data.
    HostId,
    /// CNTLID, in the data.
    ControllerId,
    /// SUBNQN, in the data.
    SubsystemNqn,
    /// HOSTNQN, in the data.
    HostNqn,
}

impl ConnectParameter {
    /// The result dword that names it: offset, and in bit 16 whether it is in the data.
    pub const fn result(self) -> u32 {
        const IN_DATA: u32 = 1 << 16;
        match self {
            ConnectParameter::QueueId => 42,
            ConnectParameter::SqSize => 44,
            ConnectParameter::Attributes => 46,
            ConnectParameter::KeepAlive => 48,
            ConnectParameter::HostId => IN_DATA,
            ConnectParameter::ControllerId => IN_DATA | 16,
            ConnectParameter::SubsystemNqn => IN_DATA | 256,
            ConnectParameter::HostNqn => IN_DATA | 512,
        }
    }
}

impl FabricsCommand {
    /// Reads the command out of `sqe`.
    ///
    /// # Errors
    /// Invalid Opcode for an unknown type, Invalid Field for an invalid property width.
    pub fn parse(sqe: &Sqe) -> Result<Self, Rejection> {
        let fctype = sqe.nsid.get() as u8;
        Ok(match fctype {
            fctype::CONNECT => FabricsCommand::Connect(parse_connect(sqe)),
            fctype::PROPERTY_GET => {
                FabricsCommand::PropertyGet { offset: sqe.cdw(11), width: parse_width(sqe)? }
            }
            fctype::PROPERTY_SET => FabricsCommand::PropertySet {
                offset: sqe.cdw(11),
                width: parse_width(sqe)?,
                value: u64::from(sqe.cdw(12)) | u64::from(sqe.cdw(13)) << 32,
            },
            fctype::DISCONNECT => FabricsCommand::Disconnect { record_format: sqe.cdw(10) as u16 },
            fctype::AUTH_SEND => FabricsCommand::AuthSend(parse_auth(sqe)),
            fctype::AUTH_RECEIVE => FabricsCommand::AuthReceive(parse_auth(sqe)),
            _ => return Err(Rejection::opcode()),
        })
    }

    /// The command as it stands on the wire.
    pub fn to_sqe(&self, cid: Cid, sgl: SglDescriptor) -> Sqe {
        let mut sqe = Sqe::new(FABRICS_OPCODE, cid, self.fctype().into());
        sqe.sgl = sgl;
        match *self {
            FabricsCommand::Connect(connect) => put_connect(&mut sqe, &connect),
            FabricsCommand::PropertyGet { offset, width } => {
                sqe.set_cdw(10, width as u32);
                sqe.set_cdw(11, offset);
            }
            FabricsCommand::PropertySet { offset, width, value } => {
                sqe.set_cdw(10, width as u32);
                sqe.set_cdw(11, offset);
                sqe.set_cdw(12, value as u32);
                sqe.set_cdw(13, (value >> 32) as u32);
            }
            FabricsCommand::Disconnect { record_format } => sqe.set_cdw(10, record_format.into()),
            FabricsCommand::AuthSend(auth) | FabricsCommand::AuthReceive(auth) => {
                sqe.set_cdw(
                    10,
                    u32::from_le_bytes([
                        0,
                        auth.protocol_specific_0,
                        auth.protocol_specific_1,
                        auth.security_protocol,
                    ]),
                );
                sqe.set_cdw(11, auth.length);
            }
        }
        sqe
    }

    fn fctype(&self) -> u8 {
        match self {
            FabricsCommand::Connect(_) => fctype::CONNECT,
            FabricsCommand::PropertyGet { .. } => fctype::PROPERTY_GET,
            FabricsCommand::PropertySet { .. } => fctype::PROPERTY_SET,
            FabricsCommand::Disconnect { .. } => fctype::DISCONNECT,
            FabricsCommand::AuthSend(_) => fctype::AUTH_SEND,
            FabricsCommand::AuthReceive(_) => fctype::AUTH_RECEIVE,
        }
    }
}

fn parse_width(sqe: &Sqe) -> Result<PropertyWidth, Rejection> {
    match sqe.cdw(10) & 7 {
        0 => Ok(PropertyWidth::Four),
        1 => Ok(PropertyWidth::Eight),
        _ => Err(Rejection::field(40)),
    }
}

fn parse_connect(sqe: &Sqe) -> Connect {
    Connect {
        record_format: sqe.cdw(10) as u16,
        queue_id: (sqe.cdw(10) >> 16) as u16,
        sq_size: sqe.cdw(11) as u16,
        disable_sq_flow_control: sqe.cdw(11) & connect_byte::CATTR_DISABLE_FLOW_CONTROL != 0,
        keep_alive_ms: sqe.cdw(12),
    }
}

fn put_connect(sqe: &mut Sqe, connect: &Connect) {
    let attributes =
        if connect.disable_sq_flow_control { connect_byte::CATTR_DISABLE_FLOW_CONTROL } else { 0 };
    sqe.set_cdw(10, u32::from(connect.record_format) | u32::from(connect.queue_id) << 16);
    sqe.set_cdw(11, u32::from(connect.sq_size) | attributes);
    sqe.set_cdw(12, connect.keep_alive_ms);
}

fn parse_auth(sqe: &Sqe) -> AuthTransfer {
    let [_, protocol_specific_0, protocol_specific_1, security_protocol] =
        sqe.cdw(10).to_le_bytes();
    AuthTransfer {
        protocol_specific_0,
        protocol_specific_1,
        security_protocol,
        length: sqe.cdw(11),
    }
}

/// The data of Connect.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ConnectData {
    /// HOSTID.
    pub host_id: [u8; 16],
    /// CNTLID: [`CNTLID_DYNAMIC`] with the admin queue, the controller's own with an I/O queue.
    pub controller_id: U16,
    /// Reserved.
    pub reserved: [u8; 238],
    /// SUBNQN.
    pub subsystem_nqn: [u8; 256],
    /// HOSTNQN.
    pub host_nqn: [u8; 256],
    /// Reserved.
    pub reserved_end: [u8; 256],
}

const _: () = assert!(size_of::<ConnectData>() == CONNECT_DATA_BYTES);

impl ConnectData {
    /// Of a host that wants a queue of controller `controller_id`.
    pub fn new(host_id: [u8; 16], controller_id: u16, subsystem_nqn: &str, host_nqn: &str) -> Self {
        let mut data = ConnectData::new_zeroed();
        data.host_id = host_id;
        data.controller_id = controller_id.into();
        data.subsystem_nqn = nqn_field(subsystem_nqn);
        data.host_nqn = nqn_field(host_nqn);
        data
    }
}

#[cfg(test)]
mod tests;
