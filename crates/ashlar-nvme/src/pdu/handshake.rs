//! ICReq and ICResp: what the two ends agree on before the first command (sections 3.6.2.2 and
//! 3.6.2.3).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::fault::PduFault;

/// The least that MAXH2CDATA may be.
pub const MAX_H2C_DATA_BYTES_MIN: u32 = 4096;

/// Largest exponent of HPDA and CPDA: payload at multiples of 128 bytes.
const DATA_ALIGNMENT_MAX: u8 = 31;

/// Which CRC32C digests are carried (DGST).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digests {
    /// After each header.
    pub header: bool,
    /// After each payload.
    pub data: bool,
}

impl Digests {
    /// None.
    pub const NONE: Digests = Digests { header: false, data: false };

    /// What both ends want.
    pub const fn and(self, other: Digests) -> Digests {
        Digests { header: self.header && other.header, data: self.data && other.data }
    }

    fn of_bits(bits: u8) -> Self {
        Digests { header: bits & 1 != 0, data: bits & 2 != 0 }
    }

    fn bits(self) -> u8 {
        u8::from(self.header) | u8::from(self.data) << 1
    }
}

/// Initialize Connection Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcReq {
    /// PFV: the PDU format's version; only 0 exists.
    pub format_version: u16,
    /// HPDA, decoded: the host wants payload at multiples of this many bytes.
    pub data_alignment_bytes: u32,
    /// Digests that the host wants.
    pub digests: Digests,
    /// R2Ts that the host takes for one command at a time (MAXR2T, decoded: at least 1).
    pub r2t_max: u32,
}

/// Initialize Connection Response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcResp {
    /// PFV.
    pub format_version: u16,
    /// CPDA, decoded: the controller wants payload at multiples of this many bytes.
    pub data_alignment_bytes: u32,
    /// Digests that are carried from now on.
    pub digests: Digests,
    /// MAXH2CDATA: most payload bytes that one H2CData may have.
    pub h2c_data_bytes_max: u32,
}

/// Bytes 8 to 15 of either PDU; the rest is reserved.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct HandshakeFields {
    format_version: U16,
    data_alignment: u8,
    digests: u8,
    limit: U32,
}

fn alignment_bytes(exponent: u8) -> Result<u32, PduFault> {
    if exponent > DATA_ALIGNMENT_MAX {
        return Err(PduFault::header_field(10));
    }
    Ok((u32::from(exponent) + 1) * 4)
}

fn alignment_exponent(bytes: u32) -> u8 {
    (bytes.clamp(4, 128) / 4 - 1) as u8
}

impl HandshakeFields {
    fn check_version(&self) -> Result<u16, PduFault> {
        match self.format_version.get() {
            0 => Ok(0),
            _ => Err(PduFault::unsupported_parameter(8)),
        }
    }

    pub fn ic_req(self) -> Result<IcReq, PduFault> {
        Ok(IcReq {
            format_version: self.check_version()?,
            data_alignment_bytes: alignment_bytes(self.data_alignment)?,
            digests: Digests::of_bits(self.digests),
            r2t_max: self.limit.get().saturating_add(1),
        })
    }

    pub fn ic_resp(self) -> Result<IcResp, PduFault> {
        let h2c_data_bytes_max = self.limit.get();
        if h2c_data_bytes_max < MAX_H2C_DATA_BYTES_MIN || !h2c_data_bytes_max.is_multiple_of(4) {
            return Err(PduFault::header_field(12));
        }
        Ok(IcResp {
            format_version: self.check_version()?,
            data_alignment_bytes: alignment_bytes(self.data_alignment)?,
            digests: Digests::of_bits(self.digests),
            h2c_data_bytes_max,
        })
    }
}

impl From<IcReq> for HandshakeFields {
    fn from(request: IcReq) -> Self {
        HandshakeFields {
            format_version: request.format_version.into(),
            data_alignment: alignment_exponent(request.data_alignment_bytes),
            digests: request.digests.bits(),
            limit: request.r2t_max.saturating_sub(1).into(),
        }
    }
}

impl From<IcResp> for HandshakeFields {
    fn from(response: IcResp) -> Self {
        HandshakeFields {
            format_version: response.format_version.into(),
            data_alignment: alignment_exponent(response.data_alignment_bytes),
            digests: response.digests.bits(),
            limit: response.h2c_data_bytes_max.into(),
        }
    }
}
