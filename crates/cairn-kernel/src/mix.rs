//! Numbers that look like chance and are the same everywhere: SplitMix64 (Steele, Lea, Flood 2014). Knows not what for.

/// 2⁶⁴ over the golden ratio, odd: its multiples meet all numbers, and lie evenly among them.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection in which every bit of the input touches every bit of the output. Multiples of [`GOLDEN`], one after the other,
/// give the stream of SplitMix64 with the first as its seed.
///
/// ```
/// assert_eq!(cairn_kernel::mix(0), 0xE220_A839_7B1D_CDAF);
/// ```
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
