//! The files of the page, built from `page/` and embedded. Knows neither server nor run.

/// The page at `/`.
pub(crate) const PAGE: &str = include_str!("../page/src/index.html");
/// Its code.
pub(crate) const SCRIPT: &str = include_str!("../page/built/page.js");
/// Its look.
pub(crate) const STYLE: &str = include_str!("../page/built/page.css");
/// SHA-256 of the code, in base64.
pub(crate) const SCRIPT_DIGEST: &str = include_str!("../page/built/page.js.sha256");
/// SHA-256 of the look, in base64.
pub(crate) const STYLE_DIGEST: &str = include_str!("../page/built/page.css.sha256");
