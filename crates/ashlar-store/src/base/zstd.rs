//! zstd for single blocks: frames without what a block's place says already.
//!
//! A frame has no magic number, content size or checksum (RFC 8878, section 3.1.1): all blocks are
//! of one size, and the map has a checksum of what is stored.

use std::cell::RefCell;

use ashlar_format::compression::ZstdLevel;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat};

/// What the codec works with. Each holds some hundred KiB, and is made when it is first needed.
struct Compressor {
    context: CCtx<'static>,
    level: Option<ZstdLevel>,
}

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

impl Compressor {
    fn new() -> Self {
        let mut context = CCtx::create();
        let parameters = [
            CParameter::Format(FrameFormat::Magicless),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).expect("zstd knows it");
        }
        Compressor { context, level: None }
    }

    fn set_level(&mut self, level: ZstdLevel) {
        if self.level.replace(level) != Some(level) {
            let parameter = CParameter::CompressionLevel(level.get().into());
            self.context.set_parameter(parameter).expect("a level of a volume is one of zstd's");
        }
    }
}

/// Puts the compressed form of `raw` into `out`. Returns its length. `None`: it needs more room.
pub(crate) fn compress(level: ZstdLevel, raw: &[u8], out: &mut [u8]) -> Option<usize> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = compressor.get_or_insert_with(Compressor::new);
        compressor.set_level(level);
        compressor.context.compress2(out, raw).ok()
    })
}

/// Puts what `stored` holds into `out`. Returns its length. `None`: it is not what [`compress`]
/// makes, or holds more.
pub(crate) fn decompress(stored: &[u8], out: &mut [u8]) -> Option<usize> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let context = decompressor.get_or_insert_with(new_decompressor);
        context.decompress(out, stored).ok()
    })
}

fn new_decompressor() -> DCtx<'static> {
    let mut context = DCtx::create();
    context.set_parameter(DParameter::Format(FrameFormat::Magicless)).expect("zstd knows it");
    context
}

#[cfg(test)]
mod tests;
