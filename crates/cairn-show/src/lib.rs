//! Pictures of plans: SVG text, PNG bytes, or one HTML file that stands alone. Knows neither files nor how plans are
//! computed: the caller hands over plain data.
//!
//! Every figure is a struct of borrowed data with a `draw` method that gives a [`Figure`]; [`Page`] binds figures and
//! tables into one HTML file. All output is deterministic.

mod absorb;
mod axis;
mod budgets;
mod circles;
mod collapse;
mod curves;
mod dag_drawing;
mod dag_nodes;
mod dag_sheet;
mod error;
mod fewer;
mod figure;
mod grouping;
mod heat_map;
mod html;
mod inside;
mod intervals;
mod kinds;
mod knots;
mod layout;
mod legend;
mod lines;
mod palette;
mod partition;
mod phases;
mod png;
mod stages;
mod text;
mod ties;
mod tradeoff;

pub use curves::{EligibilityCurves, Series};
pub use dag_drawing::{DagDrawing, Direction, Nodes};
pub use error::ShowError;
pub use figure::{Boxes, Figure, LabelBox};
pub use heat_map::{Estimate, HeatAxis, HeatMap, HeatScale};
pub use html::{Captioned, Page, Table};
pub use intervals::{IntervalRow, Intervals};
pub use lines::{Line, Lines};
pub use tradeoff::{Tradeoff, TradeoffPoint};
