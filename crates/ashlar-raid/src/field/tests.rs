use super::*;

#[test]
fn multiplication_agrees_with_shift_and_add() {
    for a in 0..=255u8 {
        for b in 0..=255u8 {
            let mut sum = 0;
            let mut power = a;
            for bit in 0..8 {
                sum ^= if b >> bit & 1 == 1 { power } else { 0 };
                power = double(power);
            }
            assert_eq!(multiply(a, b), sum);
        }
    }
}

#[test]
fn everything_but_zero_has_an_inverse() {
    assert!((1..=255).all(|value| multiply(value, inverse(value)) == 1));
}
