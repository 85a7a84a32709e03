//! zstd for single blocks: frames without what a block's place says already.
//!
//! A frame has no magic number, content size or checksum (RFC 8878, section 3.1.1): all blocks are
//! of one size, and the map has a checksum of what is stored.

use std::cell::RefCell;

use ashlar_format::compression::ZstdLevel;
use zstd_safe::{CCtx, CParameter, DCtx, DDict, DParameter, FrameFormat};

/// What the codec works with. Each holds some hundred KiB, and is made when it is first needed.
struct Compressor {
    context: CCtx<'static>,
    level: Option<ZstdLevel>,
}

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

fn new_context() -> CCtx<'static> {
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
    context
}

impl Compressor {
    fn new() -> Self {
        Compressor { context: new_context(), level: None }
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

/// Compresses by a dictionary. It holds some hundred KiB.
pub(crate) struct DictionaryCompressor(CCtx<'static>);

impl DictionaryCompressor {
    /// `None`: zstd takes no such dictionary.
    pub fn new(level: ZstdLevel, dictionary: &[u8]) -> Option<Self> {
        let mut context = new_context();
        context.set_parameter(CParameter::CompressionLevel(level.get().into())).ok()?;
        context.load_dictionary(dictionary).ok()?;
        Some(DictionaryCompressor(context))
    }

    /// Puts the compressed form of `raw` into `out`. Returns its length. `None`: it needs more
    /// room.
    pub fn compress(&mut self, raw: &[u8], out: &mut [u8]) -> Option<usize> {
        self.0.compress2(out, raw).ok()
    }
}

/// A dictionary in the form in which it is read by: its bytes, and tables of some ten KiB.
pub(crate) struct Dictionary(DDict<'static>);

impl Dictionary {
    /// `None`: zstd takes no such dictionary.
    pub fn new(dictionary: &[u8]) -> Option<Self> {
        DDict::try_create(dictionary).map(Dictionary)
    }

    /// Puts what `stored` holds into `out`. Returns its length. `None`: it is not what
    /// [`DictionaryCompressor::compress`] makes by the same dictionary, or holds more.
    pub fn decompress(&self, stored: &[u8], out: &mut [u8]) -> Option<usize> {
        DECOMPRESSOR.with_borrow_mut(|decompressor| {
            let context = decompressor.get_or_insert_with(new_decompressor);
            context.decompress_using_ddict(out, stored, &self.0).ok()
        })
    }
}

/// What samples, one after the other, have in common, in at most so many bytes. `None`: zstd finds
/// nothing, or there are too few. It takes a millisecond for every two samples of a block.
pub(crate) fn learn(samples: &[u8], sample_bytes: usize, bytes_max: usize) -> Option<Vec<u8>> {
    let mut dictionary = Vec::with_capacity(bytes_max);
    let sizes = vec![sample_bytes; samples.len() / sample_bytes];
    zstd_safe::train_from_buffer(&mut dictionary, samples, &sizes).ok()?;
    Some(dictionary)
}

fn new_decompressor() -> DCtx<'static> {
    let mut context = DCtx::create();
    context.set_parameter(DParameter::Format(FrameFormat::Magicless)).expect("zstd knows it");
    context
}

#[cfg(test)]
mod tests;
