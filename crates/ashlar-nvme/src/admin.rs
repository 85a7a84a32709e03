//! Commands of the admin queue (Base 2.1, section 5; Format NVM: NVM Command Set 1.1, section
//! 4.1.2).

use crate::sqe::{Cid, Sqe};
use crate::status::Rejection;

/// Opcodes.
pub mod opcode {
    /// Get Log Page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Identify.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set Features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous Event Request.
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    /// Keep Alive.
    pub const KEEP_ALIVE: u8 = 0x18;
    /// Format NVM.
    pub const FORMAT_NVM: u8 = 0x80;
    /// Sanitize.
    pub const SANITIZE: u8 = 0x84;
    /// Set a feature of ScaleFlux's drives: see [`crate::log::scaleflux`].
    pub const SCALEFLUX_SET_FEATURE: u8 = 0xd5;
    /// Get one.
    pub const SCALEFLUX_GET_FEATURE: u8 = 0xd6;
}

/// Identify (section 5.1.13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identify {
    /// CNS: which structure.
    pub cns: u8,
    /// CNTID: a controller, where the structure wants one.
    pub controller_id: u16,
    /// CNS Specific Identifier, where the structure wants one.
    pub specific_id: u16,
    /// CSI: a command set, where the structure wants one.
    pub command_set: u8,
}

/// Get Log Page (section 5.1.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetLogPage {
    /// LID: which page.
    pub page: u8,
    /// LSP: log specific.
    pub specific: u8,
    /// LSI: of what the page is, where there are several such things.
    pub specific_id: u16,
    /// RAE: keep the asynchronous event that led here.
    pub retain_event: bool,
    /// Bytes to return: a multiple of 4 (NUMD is 0's based, in dwords).
    pub bytes: u64,
    /// LPO: where to begin. An index of log specific units if `offset_is_index`.
    pub offset: u64,
    /// OT.
    pub offset_is_index: bool,
    /// CSI.
    pub command_set: u8,
}

/// Which value Get Features asks for (SEL).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureSelect {
    /// The one in force.
    Current,
    /// The one after a reset.
    Default,
    /// The saved one.
    Saved,
    /// What can be done with the feature.
    Supported,
}

/// Format NVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatNvm {
    /// LBAFU and LBAFL: index of the LBA format.
    pub lba_format: u8,
    /// PI, PIL and MSET: metadata settings; all zero where there are no metadata.
    pub metadata_settings: u8,
    /// SES: 0 no secure erase, 1 erase user data, 2 cryptographic erase.
    pub secure_erase: u8,
}

/// Sanitize (Base 2.1, section 5.1.22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sanitize(
    /// Command dword 10.
    pub u32,
);

/// What a Sanitize is to do (SANACT).
pub mod sanitize_action {
    /// Leave the failure of an earlier one behind.
    pub const EXIT_FAILURE: u8 = 1;
    /// Erase by the means of the media.
    pub const BLOCK_ERASE: u8 = 2;
    /// Write a pattern over everything.
    pub const OVERWRITE: u8 = 3;
    /// Change the keys.
    pub const CRYPTO_ERASE: u8 = 4;
}

impl Sanitize {
    /// SANACT.
    pub const fn action(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// AUSE: a failure may be left behind without another Sanitize.
    pub const fn is_unrestricted(self) -> bool {
        self.0 & 1 << 3 != 0
    }

    /// NDAS: the blocks are to stay allocated.
    pub const fn keeps_allocated(self) -> bool {
        self.0 & 1 << 9 != 0
    }

    /// EMVS: the media are to be read afterwards, to verify them.
    pub const fn enters_verification(self) -> bool {
        self.0 & 1 << 10 != 0
    }
}

/// An admin command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminCommand {
    /// Tells about controllers and namespaces.
    Identify(Identify),
    /// Reads a log.
    GetLogPage(GetLogPage),
    /// Reads a setting.
    GetFeatures {
        /// FID.
        feature: u8,
        /// SEL.
        select: FeatureSelect,
        /// Command dword 11.
        parameter: u32,
    },
    /// Changes a setting.
    SetFeatures {
        /// FID.
        feature: u8,
        /// SV: keep it over resets.
        save: bool,
        /// Command dword 11.
        parameter: u32,
    },
    /// Waits for an event.
    AsyncEventRequest,
    /// Wants another command ended early.
    Abort {
        /// The queue it was given to.
        queue_id: u16,
        /// Its identifier.
        cid: Cid,
    },
    /// Restarts the keep alive timer.
    KeepAlive,
    /// Formats a namespace.
    Format(FormatNvm),
    /// Erases all namespaces.
    Sanitize(Sanitize),
    /// Reads a setting of ScaleFlux's drives.
    GetScaleFluxFeature {
        /// Which.
        feature: u32,
    },
    /// Changes one.
    SetScaleFluxFeature {
        /// Which.
        feature: u32,
        /// To what.
        value: u32,
    },
}

const RETAIN_EVENT: u32 = 1 << 15;
const OFFSET_TYPE: u32 = 1 << 23;
const SAVE: u32 = 1 << 31;

impl AdminCommand {
    /// Reads the command out of `sqe`.
    ///
    /// # Errors
    /// Invalid Opcode for commands that are not supported, Invalid Field for reserved values.
    pub fn parse(sqe: &Sqe) -> Result<Self, Rejection> {
        Ok(match sqe.opcode {
            opcode::IDENTIFY => AdminCommand::Identify(Identify {
                cns: sqe.cdw(10) as u8,
                controller_id: (sqe.cdw(10) >> 16) as u16,
                specific_id: sqe.cdw(11) as u16,
                command_set: (sqe.cdw(11) >> 24) as u8,
            }),
            opcode::GET_LOG_PAGE => AdminCommand::GetLogPage(parse_log_page(sqe)),
            opcode::GET_FEATURES => AdminCommand::GetFeatures {
                feature: sqe.cdw(10) as u8,
                select: parse_select(sqe)?,
                parameter: sqe.cdw(11),
            },
            opcode::SET_FEATURES => AdminCommand::SetFeatures {
                feature: sqe.cdw(10) as u8,
                save: sqe.cdw(10) & SAVE != 0,
                parameter: sqe.cdw(11),
            },
            opcode::ASYNC_EVENT_REQUEST => AdminCommand::AsyncEventRequest,
            opcode::ABORT => AdminCommand::Abort {
                queue_id: sqe.cdw(10) as u16,
                cid: Cid((sqe.cdw(10) >> 16) as u16),
            },
            opcode::KEEP_ALIVE => AdminCommand::KeepAlive,
            opcode::FORMAT_NVM => AdminCommand::Format(parse_format(sqe)),
            opcode::SANITIZE => AdminCommand::Sanitize(Sanitize(sqe.cdw(10))),
            opcode::SCALEFLUX_GET_FEATURE => {
                AdminCommand::GetScaleFluxFeature { feature: sqe.cdw(10) }
            }
            opcode::SCALEFLUX_SET_FEATURE => {
                AdminCommand::SetScaleFluxFeature { feature: sqe.cdw(10), value: sqe.cdw(11) }
            }
            _ => return Err(Rejection::opcode()),
        })
    }

    /// The command as it stands on the wire, without its data pointer.
    pub fn to_sqe(&self, cid: Cid, nsid: u32) -> Sqe {
        let mut sqe = Sqe::new(self.opcode(), cid, nsid);
        match *self {
            AdminCommand::Identify(identify) => {
                sqe.set_cdw(10, u32::from(identify.cns) | u32::from(identify.controller_id) << 16);
                let specific_id = u32::from(identify.specific_id);
                sqe.set_cdw(11, specific_id | u32::from(identify.command_set) << 24);
            }
            AdminCommand::GetLogPage(get) => put_log_page(&mut sqe, &get),
            AdminCommand::GetFeatures { feature, select, parameter } => {
                sqe.set_cdw(10, u32::from(feature) | (select as u32) << 8);
                sqe.set_cdw(11, parameter);
            }
            AdminCommand::SetFeatures { feature, save, parameter } => {
                sqe.set_cdw(10, u32::from(feature) | if save { SAVE } else { 0 });
                sqe.set_cdw(11, parameter);
            }
            AdminCommand::Abort { queue_id, cid } => {
                sqe.set_cdw(10, u32::from(queue_id) | u32::from(cid.0) << 16);
            }
            AdminCommand::Format(format) => put_format(&mut sqe, &format),
            AdminCommand::Sanitize(sanitize) => sqe.set_cdw(10, sanitize.0),
            AdminCommand::GetScaleFluxFeature { feature } => sqe.set_cdw(10, feature),
            AdminCommand::SetScaleFluxFeature { feature, value } => {
                sqe.set_cdw(10, feature);
                sqe.set_cdw(11, value);
            }
            AdminCommand::AsyncEventRequest | AdminCommand::KeepAlive => {}
        }
        sqe
    }

    /// The command's opcode.
    pub const fn opcode(&self) -> u8 {
        match self {
            AdminCommand::Identify(_) => opcode::IDENTIFY,
            AdminCommand::GetLogPage(_) => opcode::GET_LOG_PAGE,
            AdminCommand::GetFeatures { .. } => opcode::GET_FEATURES,
            AdminCommand::SetFeatures { .. } => opcode::SET_FEATURES,
            AdminCommand::AsyncEventRequest => opcode::ASYNC_EVENT_REQUEST,
            AdminCommand::Abort { .. } => opcode::ABORT,
            AdminCommand::KeepAlive => opcode::KEEP_ALIVE,
            AdminCommand::Format(_) => opcode::FORMAT_NVM,
            AdminCommand::Sanitize(_) => opcode::SANITIZE,
            AdminCommand::GetScaleFluxFeature { .. } => opcode::SCALEFLUX_GET_FEATURE,
            AdminCommand::SetScaleFluxFeature { .. } => opcode::SCALEFLUX_SET_FEATURE,
        }
    }
}

fn parse_log_page(sqe: &Sqe) -> GetLogPage {
    let dwords = u64::from(sqe.cdw(10) >> 16) | u64::from(sqe.cdw(11) & 0xffff) << 16;
    GetLogPage {
        page: sqe.cdw(10) as u8,
        specific: (sqe.cdw(10) >> 8 & 0x7f) as u8,
        specific_id: (sqe.cdw(11) >> 16) as u16,
        retain_event: sqe.cdw(10) & RETAIN_EVENT != 0,
        bytes: (dwords + 1) * 4,
        offset: u64::from(sqe.cdw(12)) | u64::from(sqe.cdw(13)) << 32,
        offset_is_index: sqe.cdw(14) & OFFSET_TYPE != 0,
        command_set: (sqe.cdw(14) >> 24) as u8,
    }
}

fn put_log_page(sqe: &mut Sqe, get: &GetLogPage) {
    let dwords = get.bytes / 4 - 1;
    let retain = if get.retain_event { RETAIN_EVENT } else { 0 };
    sqe.set_cdw(
        10,
        u32::from(get.page)
            | u32::from(get.specific & 0x7f) << 8
            | retain
            | (dwords as u32 & 0xffff) << 16,
    );
    sqe.set_cdw(11, (dwords >> 16) as u32 & 0xffff | u32::from(get.specific_id) << 16);
    sqe.set_cdw(12, get.offset as u32);
    sqe.set_cdw(13, (get.offset >> 32) as u32);
    sqe.set_cdw(
        14,
        (if get.offset_is_index { OFFSET_TYPE } else { 0 }) | u32::from(get.command_set) << 24,
    );
}

fn parse_select(sqe: &Sqe) -> Result<FeatureSelect, Rejection> {
    match sqe.cdw(10) >> 8 & 7 {
        0 => Ok(FeatureSelect::Current),
        1 => Ok(FeatureSelect::Default),
        2 => Ok(FeatureSelect::Saved),
        3 => Ok(FeatureSelect::Supported),
        _ => Err(Rejection::field(41)),
    }
}

fn parse_format(sqe: &Sqe) -> FormatNvm {
    let bits = sqe.cdw(10);
    FormatNvm {
        lba_format: (bits & 15 | bits >> 8 & 0x30) as u8,
        metadata_settings: (bits >> 4 & 0x1f) as u8,
        secure_erase: (bits >> 9 & 7) as u8,
    }
}

fn put_format(sqe: &mut Sqe, format: &FormatNvm) {
    let lba_format = u32::from(format.lba_format);
    sqe.set_cdw(
        10,
        lba_format & 15
            | (lba_format & 0x30) << 8
            | u32::from(format.metadata_settings & 0x1f) << 4
            | u32::from(format.secure_erase & 7) << 9,
    );
}

#[cfg(test)]
mod tests;
