//! Colours that colour-blind readers can tell apart, and dashes for print in grey. Knows no figure.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

// Greys from black to white in steps that can be told apart, by eye: what carries meaning has at least 4.5 : 1 on white (text and lesser
// text), lines between things have less.

/// Text and the axes of a light page. A dark page replaces it through the class `ink`.
pub(crate) const INK: Rgb = Rgb(0x1f, 0x23, 0x28);
/// Lesser text.
pub(crate) const MUTED: Rgb = Rgb(0x57, 0x60, 0x6a);
/// Axis lines and arcs.
pub(crate) const RULE: Rgb = Rgb(0x7d, 0x86, 0x90);
/// Grid lines.
pub(crate) const GRID: Rgb = Rgb(0xe1, 0xe4, 0xe8);
/// The ground.
pub(crate) const PAPER: Rgb = Rgb(0xff, 0xff, 0xff);
/// The certified bound: a broad pale line behind the others.
pub(crate) const BOUND: Rgb = Rgb(0xb4, 0xb9, 0xc0);

/// Okabe and Ito's colours, those that stand out on white as thin lines first.
pub(crate) const BLUE: Rgb = Rgb(0x00, 0x72, 0xb2);
pub(crate) const VERMILLION: Rgb = Rgb(0xd5, 0x5e, 0x00);
pub(crate) const GREEN: Rgb = Rgb(0x00, 0x9e, 0x73);
pub(crate) const PURPLE: Rgb = Rgb(0xcc, 0x79, 0xa7);
pub(crate) const ORANGE: Rgb = Rgb(0xe6, 0x9f, 0x00);
pub(crate) const SKY: Rgb = Rgb(0x56, 0xb4, 0xe9);
pub(crate) const YELLOW: Rgb = Rgb(0xf0, 0xe4, 0x42);
pub(crate) const GREY: Rgb = Rgb(0x99, 0x99, 0x99);

/// Colours of filled areas, neighbours in the list far apart.
pub(crate) const FILLS: [Rgb; 8] = [SKY, ORANGE, GREEN, PURPLE, YELLOW, BLUE, VERMILLION, GREY];

/// Colour and dash pattern of the `i`-th line. The first is unbroken; colours repeat only with another dash.
pub(crate) fn line_style(i: usize) -> (Rgb, &'static str) {
    const COLOURS: [Rgb; 6] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY];
    // Seven, which has no divisor in common with six colours: 42 lines differ before a pair of both comes again.
    const DASHES: [&str; 7] = ["", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2", "1 2"];
    (COLOURS[i % COLOURS.len()], DASHES[i % DASHES.len()])
}

impl Rgb {
    /// As `#rrggbb`.
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// The attribute of an area of this colour.
    pub(crate) fn fill(self) -> String {
        format!("fill=\"{}\"", self.hex())
    }

    /// The colour on the way from `self` (0) to `other` (1).
    pub(crate) fn towards(self, other: Rgb, share: f64) -> Rgb {
        let share = share.clamp(0.0, 1.0);
        let mix =
            |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Rgb(
            mix(self.0, other.0),
            mix(self.1, other.1),
            mix(self.2, other.2),
        )
    }

    /// Relative luminance as in the Web Content Accessibility Guidelines, 0 (black) to 1 (white).
    fn luminance(self) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Contrast ratio, 1 (same) to 21 (black on white).
    pub(crate) fn contrast(self, other: Rgb) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The text colour, black or white, that reads better on this ground: their contrast is at least 4.58.
    pub(crate) fn ink(self) -> Rgb {
        const BLACK: Rgb = Rgb(0, 0, 0);
        if self.contrast(BLACK) >= self.contrast(PAPER) {
            BLACK
        } else {
            PAPER
        }
    }
}

/// Blue through near-white to vermillion, for `t` from −1 to 1.
pub(crate) fn diverging(t: f64) -> Rgb {
    const MIDDLE: Rgb = Rgb(0xf7, 0xf7, 0xf7);
    if t < 0.0 {
        // Blue and vermillion are told apart by all who see few colours, which red and green are not.
        MIDDLE.towards(BLUE, -t)
    } else {
        MIDDLE.towards(VERMILLION, t)
    }
}

/// Near-white to dark blue, for `t` from 0 to 1.
pub(crate) fn sequential(t: f64) -> Rgb {
    // The blue of lines, darker: it falls in lightness all the way, so that print in grey has the same order. By eye.
    const LOW: Rgb = Rgb(0xf2, 0xf6, 0xfa);
    const HIGH: Rgb = Rgb(0x00, 0x4b, 0x7a);
    LOW.towards(HIGH, t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_readable_on_every_ground() {
        for t in -100..=100 {
            let t = f64::from(t) / 100.0;
            for ground in [diverging(t), sequential(t.abs())] {
                assert!(ground.contrast(ground.ink()) > 4.5, "{ground:?}");
            }
        }
        for fill in FILLS {
            assert!(fill.contrast(fill.ink()) > 4.5, "{fill:?}");
        }
    }

    #[test]
    fn no_two_of_the_first_forty_lines_look_alike() {
        let styles: Vec<_> = (0..40).map(line_style).collect();
        for i in 0..styles.len() {
            assert!(!styles[..i].contains(&styles[i]));
        }
    }
}
