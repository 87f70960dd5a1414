//! The 16-bit floating-point types. They hold bits; arithmetic is done in `f32`.

/// IEEE 754 binary16.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct F16(u16);

/// bfloat16: the upper half of an `f32`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bf16(u16);

const F32_FRACTION_BITS: u32 = 23;
const F16_FRACTION_BITS: u32 = 10;
const F16_INFINITY: u32 = 0x7c00;
/// What the exponents of `f32` and `F16` differ by: their biases are 127 and 15.
const BIAS_DIFFERENCE: i32 = 127 - 15;

/// `bits` without its lowest `dropped` bits, rounded to nearest, ties to even.
fn round_off(bits: u32, dropped: u32) -> u32 {
    let kept = bits >> dropped;
    let half = 1 << (dropped - 1);
    let rest = bits & ((1 << dropped) - 1);
    let is_up = rest > half || (rest == half && kept & 1 == 1);
    kept + u32::from(is_up)
}

impl F16 {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> F16 {
        F16(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, ties to even. What is too large becomes infinite.
    pub fn from_f32(number: f32) -> F16 {
        let bits = number.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        F16((sign | F16::magnitude_of(number, magnitude)) as u16)
    }

    fn magnitude_of(number: f32, magnitude: u32) -> u32 {
        if number.is_nan() {
            // The uppermost bit of the fraction makes it quiet, and never an infinity.
            return F16_INFINITY | 0x200 | ((magnitude >> 13) & 0x1ff);
        }
        let exponent = (magnitude >> F32_FRACTION_BITS) as i32 - BIAS_DIFFERENCE;
        if exponent >= 31 {
            return F16_INFINITY;
        }
        let dropped = F32_FRACTION_BITS - F16_FRACTION_BITS;
        if exponent > 0 {
            // A fraction that rounds up to the next power of two carries into the exponent, and into infinity.
            return round_off(magnitude - ((BIAS_DIFFERENCE as u32) << F32_FRACTION_BITS), dropped);
        }
        // Subnormal: the leading 1 is written out, and the fraction shifted by what the exponent lacks.
        let shift = dropped + 1 + exponent.unsigned_abs();
        if shift > 24 {
            return 0;
        }
        round_off((magnitude & 0x7f_ffff) | 0x80_0000, shift)
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let exponent = u32::from(self.0 >> 10) & 31;
        let fraction = u32::from(self.0) & 0x3ff;
        if exponent == 0 {
            // Exact: 2^-24 and so many of it are numbers of f32.
            let magnitude = fraction as f32 / (1 << 24) as f32;
            return f32::from_bits(sign | magnitude.to_bits());
        }
        let wide = if exponent == 31 { 255 } else { exponent + BIAS_DIFFERENCE as u32 };
        f32::from_bits(sign | (wide << F32_FRACTION_BITS) | (fraction << 13))
    }
}

impl Bf16 {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> Bf16 {
        Bf16(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, ties to even. What is too large becomes infinite.
    pub fn from_f32(number: f32) -> Bf16 {
        let bits = number.to_bits();
        if number.is_nan() {
            // Rounding could carry a NaN into an infinity: it is cut, and made quiet.
            return Bf16((bits >> 16) as u16 | 0x40);
        }
        Bf16(round_off(bits, 16) as u16)
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl From<F16> for f32 {
    fn from(number: F16) -> f32 {
        number.to_f32()
    }
}

impl From<Bf16> for f32 {
    fn from(number: Bf16) -> f32 {
        number.to_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_16_bits_is_the_same_after_f32() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (F16::from_bits(bits), Bf16::from_bits(bits));
            if !half.to_f32().is_nan() {
                assert_eq!(F16::from_f32(half.to_f32()), half);
            }
            if !brain.to_f32().is_nan() {
                assert_eq!(Bf16::from_f32(brain.to_f32()), brain);
            }
        }
    }

    #[test]
    fn between_two_neighbours_the_nearer_one_is_taken_and_the_even_one_of_two_equally_near() {
        // All finite neighbours of F16. f64 holds the middle of each pair exactly, and f32 does too.
        for bits in 0..0x7bff_u16 {
            let (low, high) = (F16::from_bits(bits), F16::from_bits(bits + 1));
            let middle = (low.to_f32() + high.to_f32()) / 2.0;
            assert_eq!(F16::from_f32(middle), if bits & 1 == 0 { low } else { high }, "{bits:#x}");
            assert_eq!(F16::from_f32(f32::from_bits(middle.to_bits() - 1)), low, "{bits:#x}");
            assert_eq!(F16::from_f32(f32::from_bits(middle.to_bits() + 1)), high, "{bits:#x}");
        }
    }

    #[test]
    fn numbers_beyond_the_range_are_infinite_and_nan_stays_nan() {
        assert_eq!(F16::from_f32(65504.0).to_f32(), 65504.0);
        assert_eq!(F16::from_f32(65520.0).to_f32(), f32::INFINITY);
        assert_eq!(F16::from_f32(-1e10).to_f32(), f32::NEG_INFINITY);
        assert_eq!(F16::from_f32(1e-30), F16::from_bits(0));
        assert!(F16::from_f32(f32::NAN).to_f32().is_nan());
        assert_eq!(Bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
        assert!(Bf16::from_f32(f32::from_bits(0x7f80_0001)).to_f32().is_nan());
        assert_eq!(Bf16::from_f32(1.0).to_bits(), 0x3f80);
        assert_eq!(F16::from_f32(-2.0).to_bits(), 0xc000);
    }
}
