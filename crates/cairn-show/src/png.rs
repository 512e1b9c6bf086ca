//! PNG bytes from our SVG text. Knows one font, the bundled one, and asks the machine for none.

use crate::budgets::MOST_PIXELS;
use crate::{ShowError, text};
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, OnceLock};

fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(text::font().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    };
    FONTS.get_or_init(load).clone()
}

/// Renders SVG text, `scale` pixels for each of its own.
pub(crate) fn from_svg(svg: &str, scale: f32) -> Result<Vec<u8>, ShowError> {
    let failed = |error: &dyn std::fmt::Display| ShowError::Png(error.to_string());
    if !(scale.is_finite() && scale > 0.0) {
        return Err(failed(&"the scale must be a positive number"));
    }
    let options = usvg::Options {
        font_family: "DejaVu Sans".to_owned(),
        fontdb: fonts(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| failed(&e))?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|x| f64::from(x * scale).ceil());
    let too_large = || ShowError::TooLarge {
        width: width as u64,
        height: height as u64,
    };
    if width * height > MOST_PIXELS {
        return Err(too_large());
    }
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
    resvg::render(
        &tree,
        tiny_skia::Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|e| failed(&e))
}
