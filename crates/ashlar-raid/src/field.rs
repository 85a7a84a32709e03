//! Arithmetic over GF(2⁸) with polynomial 0x11d, one element at a time: what constants and matrices
//! are made of.

const EXP: [u8; 510] = exp_table();
const LOG: [u8; 256] = log_table();

const fn exp_table() -> [u8; 510] {
    let mut table = [0; 510];
    let mut value = 1u8;
    let mut power = 0;
    while power < 510 {
        table[power] = value;
        value = double(value);
        power += 1;
    }
    table
}

const fn log_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut power = 0;
    while power < 255 {
        table[EXP[power] as usize] = power as u8;
        power += 1;
    }
    table
}

pub const fn double(value: u8) -> u8 {
    (value << 1) ^ if value & 0x80 != 0 { 0x1d } else { 0 }
}

pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    EXP[LOG[a as usize] as usize + LOG[b as usize] as usize]
}

pub const fn inverse(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    EXP[255 - LOG[a as usize] as usize]
}

/// Two to the power of `power`.
pub const fn exp(power: usize) -> u8 {
    EXP[power % 255]
}

#[cfg(test)]
mod tests;
