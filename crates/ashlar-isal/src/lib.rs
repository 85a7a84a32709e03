//! Intel's ISA-L, where the machine has it: the well-known erasure code that tests and the
//! benchmark hold ours against.
//!
//! It is loaded when it is asked for, so that nothing is linked to it and a machine without it
//! builds and serves all the same. ISA-L computes over GF(2⁸) with polynomial 0x11d, by whatever
//! matrix it is given.

use std::ffi::c_int;

use libloading::Library;

/// As Debian's and Ubuntu's package `libisal2` installs it.
const LIBRARY: &str = "libisal.so.2";
/// Bytes that ISA-L makes of each factor.
const TABLE_BYTES: usize = 32;

// erasure_code.h of ISA-L 2.
type InitTables =
    unsafe extern "C" fn(sources: c_int, sums: c_int, factors: *const u8, tables: *mut u8);
type EncodeData = unsafe extern "C" fn(
    bytes: c_int,
    sources: c_int,
    sums: c_int,
    tables: *const u8,
    source: *const *const u8,
    sum: *const *mut u8,
);
type InvertMatrix = unsafe extern "C" fn(matrix: *mut u8, inverse: *mut u8, size: c_int) -> c_int;

/// The library.
pub struct Isal {
    init_tables: InitTables,
    encode_data: EncodeData,
    invert_matrix: InvertMatrix,
    /// What the functions are part of.
    _library: Library,
}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{LIBRARY} cannot be loaded (apt-get install libisal2 brings it): {0}")]
pub struct LoadError(#[from] libloading::Error);

/// Factors as ISA-L takes them.
pub struct Tables {
    sources: usize,
    sums: usize,
    bytes: Vec<u8>,
}

impl Isal {
    /// Loads it.
    ///
    /// # Errors
    /// When it is not installed, or is not what it seems.
    pub fn load() -> Result<Self, LoadError> {
        // SAFETY: its initialisers only look which processor this is. The types are those of its
        // header, and the functions are used no longer than the library is there.
        unsafe {
            let library = Library::new(LIBRARY)?;
            Ok(Isal {
                init_tables: *library.get(b"ec_init_tables\0")?,
                encode_data: *library.get(b"ec_encode_data\0")?,
                invert_matrix: *library.get(b"gf_invert_matrix\0")?,
                _library: library,
            })
        }
    }

    /// Tables for `factors`: a row for each sum, with a factor for each source.
    ///
    /// # Panics
    /// If the rows differ in length, or there are none.
    pub fn tables(&self, factors: &[Vec<u8>]) -> Tables {
        let (sums, sources) = (factors.len(), factors[0].len());
        assert!(factors.iter().all(|row| row.len() == sources), "rows differ in length");
        let factors = factors.concat();
        let mut bytes = vec![0; TABLE_BYTES * factors.len()];
        // SAFETY: as many factors, and as much room, as the two numbers say.
        unsafe {
            (self.init_tables)(int(sources), int(sums), factors.as_ptr(), bytes.as_mut_ptr())
        };
        Tables { sources, sums, bytes }
    }

    /// `sums[j]` becomes the sum of all sources, each multiplied by its factor in row *j*.
    ///
    /// # Panics
    /// If there are not as many as `tables` were made for, or they differ in length.
    pub fn combine(&self, tables: &Tables, sources: &[&[u8]], sums: &mut [&mut [u8]]) {
        assert_eq!((sources.len(), sums.len()), (tables.sources, tables.sums));
        let bytes = sums[0].len();
        let lengths =
            sources.iter().map(|source| source.len()).chain(sums.iter().map(|sum| sum.len()));
        assert!(lengths.into_iter().all(|len| len == bytes), "sources and sums differ in length");
        let source: Vec<*const u8> = sources.iter().map(|source| source.as_ptr()).collect();
        let sum: Vec<*mut u8> = sums.iter_mut().map(|sum| sum.as_mut_ptr()).collect();
        // SAFETY: as many pointers as the tables were made for, each to as many bytes as the first
        // number says.
        unsafe {
            (self.encode_data)(
                int(bytes),
                int(sources.len()),
                int(sums.len()),
                tables.bytes.as_ptr(),
                source.as_ptr(),
                sum.as_ptr(),
            );
        }
    }

    /// The inverse of a square matrix, if it has one.
    ///
    /// # Panics
    /// If it is not square.
    pub fn invert(&self, matrix: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
        let size = matrix.len();
        assert!(matrix.iter().all(|row| row.len() == size), "not a square");
        let mut given = matrix.concat();
        let mut inverse = vec![0; given.len()];
        // SAFETY: both have that size squared.
        let failed =
            unsafe { (self.invert_matrix)(given.as_mut_ptr(), inverse.as_mut_ptr(), int(size)) };
        (failed == 0).then(|| inverse.chunks(size).map(<[u8]>::to_vec).collect())
    }
}

fn int(number: usize) -> c_int {
    c_int::try_from(number).expect("no row is that large")
}
