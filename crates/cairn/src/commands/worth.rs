//! What a plan is worth, in words a scientist knows: ready tasks, open results, other orders beside it. The theory's own
//! words are those of `plan.rs`, under `-v` and in `explain`.

use crate::layout;
use cairn_formats::size;
use cairn_plan::Verdict;

/// How good an order is, in a sentence. `how` says how that is known, `share` is the part of the ready tasks that no order
/// can exceed.
pub(crate) fn verdict(verdict: Verdict, how: &str, share: f64) -> String {
    let percent = percent(share);
    match verdict {
        Verdict::Optimal => {
            format!("the best there is: no order has more tasks ready at any step ({how})")
        }
        Verdict::NoneExists => format!(
            "no order is the best at every step ({how}); this one has {percent} of the ready tasks that no order can exceed"
        ),
        Verdict::Suboptimal => format!(
            "not the best: another order has more tasks ready at some steps and fewer at none; this one has {percent} of its \
             ready tasks"
        ),
        Verdict::Open => format!(
            "not proved the best: it has {percent} of the ready tasks that no order can exceed"
        ),
    }
}

/// The part of what no order can exceed that an area is; all of it where there is nothing to reach.
pub(crate) fn share(area: impl Into<u128>, most: impl Into<u128>) -> f64 {
    match most.into() {
        0 => 1.0,
        most => area.into() as f64 / most as f64,
    }
}

/// A share with one decimal; all of it only where it is all of it.
pub(crate) fn percent(share: f64) -> String {
    match (share * 1000.0).round() {
        1000.0 if share < 1.0 => "99.9 %".to_owned(),
        tenths => format!("{} %", tenths / 10.0),
    }
}

/// Ready tasks on average over all steps.
pub(crate) fn mean_ready(area: u64, tasks: usize) -> String {
    format!("{:.1}", area as f64 / tasks.max(1) as f64)
}

/// One order in the table of orders.
pub(crate) struct Beside {
    pub(crate) name: String,
    /// Sum of ready tasks over all steps.
    pub(crate) area: u64,
    /// The most results that are open at any step.
    pub(crate) peak: u64,
    /// The most bytes in use, where they are counted.
    pub(crate) disk: Option<u64>,
}

/// Orders beside each other: tasks ready on average, the share of what no order exceeds, open results.
pub(crate) fn table(rows: &[Beside], (tasks, most): (usize, u64), width: usize) -> String {
    let mut header = vec!["", "tasks ready", "of the limit", "results open"];
    let is_counted = rows.iter().any(|r| r.disk.is_some());
    if is_counted {
        header.push("disk");
    }
    let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
    let row = |row: &Beside| {
        let mut cells = vec![
            row.name.clone(),
            mean_ready(row.area, tasks),
            percent(share(row.area, most)),
            row.peak.to_string(),
        ];
        cells.extend(row.disk.map(|bytes| size::words(bytes.into())));
        cells
    };
    let mut lines = vec![header];
    lines.extend(rows.iter().map(row));
    let mut about = "Tasks ready: on average over all steps. Limit: what no order can exceed. Results open: made and still \
                     needed, at the most."
        .to_owned();
    if is_counted {
        about += " Disk: in use at the most, one task at a time.";
    }
    layout::columns(&lines, width) + &layout::hanging("  ", &about, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_percent_is_all_of_it() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.99999), "99.9 %");
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(percent(0.12345), "12.3 %");
    }
}
