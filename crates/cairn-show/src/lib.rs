//! Pictures of plans: SVG text, PNG bytes, or one HTML file that stands alone. Knows neither files nor how plans are
//! computed: the caller hands over plain data.
//!
//! Every figure is a struct of borrowed data with a `draw` method that gives a [`Figure`]; [`Page`] binds figures and
//! tables into one HTML file. All output is deterministic.

mod axis;
mod collapse;
mod curves;
mod dag_drawing;
mod dag_nodes;
mod dag_sheet;
mod error;
mod figure;
mod heat_map;
mod html;
mod intervals;
mod layout;
mod legend;
mod palette;
mod png;
mod text;
mod tradeoff;

pub use curves::{EligibilityCurves, Series};
pub use dag_drawing::{DagDrawing, Direction, Nodes};
pub use error::ShowError;
pub use figure::{Figure, LabelBox};
pub use heat_map::{Estimate, HeatAxis, HeatMap, HeatScale};
pub use html::{Captioned, Page, Table};
pub use intervals::{IntervalRow, Intervals};
pub use tradeoff::{Tradeoff, TradeoffPoint};
