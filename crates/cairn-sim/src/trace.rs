//! A record of when workers were up, read from text. Knows no file and no simulation.

/// When each worker of some real pool was up.
///
/// Read from CSV text with rows `worker,start,end` in any order; a header line, blank lines and lines that start with
/// `#` are skipped. Time zero is the earliest start. Spells that touch are joined.
///
/// ```
/// use cairn_sim::Trace;
/// let trace = Trace::parse("worker,start,end\na,100,250\nb,120,130\na,300,400\n")?;
/// assert_eq!((trace.workers(), trace.end()), (2, 300.0));
/// assert!(Trace::parse("a,5,1").unwrap_err().to_string().contains("line 1"));
/// # Ok::<(), cairn_sim::TraceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// By worker: start, end, start, end, … strictly rising.
    changes: Vec<Vec<f64>>,
    end: f64,
}

/// What is wrong with the text of a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// Not three fields.
    #[error("line {line}: {fields} fields, but a row is worker,start,end")]
    Fields {
        /// The line, from 1.
        line: usize,
        /// How many there are.
        fields: usize,
    },
    /// No worker's name.
    #[error("line {line}: the worker has no name")]
    NoName {
        /// The line, from 1.
        line: usize,
    },
    /// A time that is no finite number.
    #[error("line {line}: '{text}' is no time: write a finite number")]
    NotATime {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A spell that ends before it has begun.
    #[error("line {line}: the spell ends at {end}, not after its start at {start}")]
    Backwards {
        /// The line, from 1.
        line: usize,
        /// Its start.
        start: f64,
        /// Its end.
        end: f64,
    },
    /// A worker that is up twice at once.
    #[error("line {line}: worker '{worker}' is up already at {start}, by line {other}")]
    Overlap {
        /// The line, from 1.
        line: usize,
        /// The line it collides with.
        other: usize,
        /// The worker.
        worker: String,
        /// When the later spell starts.
        start: f64,
    },
    /// No row at all.
    #[error("the trace is empty: give rows worker,start,end")]
    Empty,
}

/// One row: when a worker was up, and where that was read.
struct Spell {
    start: f64,
    end: f64,
    line: usize,
}

impl Trace {
    /// Reads CSV text. O(rows · log rows).
    ///
    /// # Errors
    /// [`TraceError`] names the line.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        // Workers keep the order of their first row, so that numbers do not depend on a hash.
        let mut names: Vec<&str> = Vec::new();
        let mut number = std::collections::HashMap::new();
        let mut spells: Vec<Vec<Spell>> = Vec::new();
        // Spreadsheets write a mark of byte order in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut first_row = true;
        for (i, row) in text.lines().enumerate() {
            let row = row.trim();
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            let is_header = std::mem::take(&mut first_row) && is_header(row);
            if is_header {
                continue;
            }
            let (name, spell) = parse_row(i + 1, row)?;
            let worker = *number.entry(name).or_insert_with(|| {
                names.push(name);
                spells.push(Vec::new());
                names.len() - 1
            });
            spells[worker].push(spell);
        }
        // One zero for all workers, or their spells would be shifted against each other.
        let zero = (spells.iter().flatten().map(|s| s.start)).fold(f64::INFINITY, f64::min);
        let changes = (spells.into_iter().zip(names))
            .map(|(spells, name)| join(spells, name, zero))
            .collect::<Result<Vec<_>, _>>()?;
        let end = (changes.iter().filter_map(|c| c.last())).fold(0.0, |a: f64, &b| a.max(b));
        if changes.is_empty() {
            return Err(TraceError::Empty);
        }
        Ok(Trace { changes, end })
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.changes.len()
    }

    /// When the last worker leaves, counted from the earliest start.
    pub fn end(&self) -> f64 {
        self.end
    }

    /// The time of a worker's `k`-th change, counting from 0: even ones are arrivals, odd ones departures. `None` when
    /// it changes no more. A repeated trace starts over at its end, and a worker up on both sides of that seam stays.
    pub(crate) fn change(&self, worker: usize, k: usize, repeat: bool) -> Option<f64> {
        let changes = &self.changes[worker];
        if !repeat {
            return changes.get(k).copied();
        }
        // Up at both ends of the record: repeated, that is one long spell, not a departure and an arrival at the same
        // instant, at which it would lose its task.
        let seamless = changes[0] == 0.0 && changes[changes.len() - 1] == self.end;
        if !seamless {
            let lap = (k / changes.len()) as f64;
            return Some(changes[k % changes.len()] + lap * self.end);
        }
        // After the first arrival, each lap has the changes strictly inside it.
        if k == 0 {
            return Some(0.0);
        }
        let inner = &changes[1..changes.len() - 1];
        // Without changes inside it never goes: no further change.
        let lap = ((k - 1).checked_div(inner.len())?) as f64;
        Some(inner[(k - 1) % inner.len()] + lap * self.end)
    }

    /// The longest time for which a worker is up; infinite if one stays for ever.
    pub(crate) fn longest_spell(&self, repeat: bool) -> f64 {
        let mut longest = 0.0f64;
        for (worker, changes) in self.changes.iter().enumerate() {
            // One lap more, for spells across the seam.
            for k in (0..2 * changes.len()).step_by(2) {
                let Some(start) = self.change(worker, k, repeat) else {
                    break;
                };
                let end = self.change(worker, k + 1, repeat);
                longest = longest.max(end.map_or(f64::INFINITY, |end| end - start));
            }
        }
        longest
    }
}

/// The first row is a header if neither of its times is a number.
fn is_header(row: &str) -> bool {
    let mut times = row.split(',').skip(1);
    let mut named = || {
        times
            .next()
            .is_some_and(|f| f.trim().parse::<f64>().is_err())
    };
    // Both: a row with one bad time is a mistake that must be told.
    named() && named()
}

fn parse_row(line: usize, row: &str) -> Result<(&str, Spell), TraceError> {
    let fields: Vec<&str> = row.split(',').map(|f| f.trim().trim_matches('"')).collect();
    let &[name, start, end] = &fields[..] else {
        return Err(TraceError::Fields {
            line,
            fields: fields.len(),
        });
    };
    if name.is_empty() {
        return Err(TraceError::NoName { line });
    }
    let time = |text: &str| match text.parse::<f64>() {
        Ok(time) if time.is_finite() => Ok(time),
        _ => Err(TraceError::NotATime {
            line,
            text: text.to_owned(),
        }),
    };
    let (start, end) = (time(start)?, time(end)?);
    if end <= start {
        return Err(TraceError::Backwards { line, start, end });
    }
    Ok((name, Spell { start, end, line }))
}

/// Sorts one worker's spells, joins those that touch, and counts time from `zero`.
fn join(mut spells: Vec<Spell>, name: &str, zero: f64) -> Result<Vec<f64>, TraceError> {
    spells.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut changes: Vec<f64> = Vec::new();
    for (i, spell) in spells.iter().enumerate() {
        if i > 0 && spell.start < spells[i - 1].end {
            let (line, before) = (spell.line, spells[i - 1].line);
            return Err(TraceError::Overlap {
                // Rows may stand in any order: the later line of the two is the one to mend.
                line: line.max(before),
                other: line.min(before),
                worker: name.to_owned(),
                start: spell.start,
            });
        }
        let (start, end) = (spell.start - zero, spell.end - zero);
        match changes.last_mut() {
            // Also where the shift to zero rounds a short break away.
            Some(last) if *last >= start => *last = end,
            _ => changes.extend([start, end]),
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_any_order_with_header_comments_and_touching_spells() {
        let text =
            "\u{feff}# pool\r\nworker, start, end\r\n\r\nb,30,40\r\n\"a\",20,25\r\na,10,20\r\n";
        let trace = Trace::parse(text).unwrap();
        assert_eq!(trace.changes, [vec![20.0, 30.0], vec![0.0, 15.0]]);
        assert_eq!(trace.end(), 30.0);
        assert_eq!(trace.change(0, 1, false), Some(30.0));
        assert_eq!(trace.change(0, 2, false), None);
        assert_eq!(trace.change(0, 2, true), Some(50.0));
        assert_eq!(trace.change(1, 3, true), Some(45.0));
    }

    #[test]
    fn a_worker_up_across_the_seam_stays_up() {
        let trace = Trace::parse("a,0,10\nb,0,3\nb,4,10\n").unwrap();
        assert_eq!(trace.change(0, 0, true), Some(0.0));
        assert_eq!(trace.change(0, 1, true), None);
        let b: Vec<_> = (0..6).map_while(|k| trace.change(1, k, true)).collect();
        assert_eq!(b, [0.0, 3.0, 4.0, 13.0, 14.0, 23.0]);
        assert_eq!(trace.change(0, 1, false), Some(10.0));
    }

    #[test]
    fn every_fault_names_its_line() {
        let error = |text: &str| Trace::parse(text).unwrap_err();
        assert_eq!(error(""), TraceError::Empty);
        assert_eq!(error("worker,start,end\n# none\n"), TraceError::Empty);
        assert_eq!(
            error("a,1,2\nb,3"),
            TraceError::Fields { line: 2, fields: 2 }
        );
        assert_eq!(error("a,1,2,3"), TraceError::Fields { line: 1, fields: 4 });
        assert_eq!(error("a,1,2\n,1,2"), TraceError::NoName { line: 2 });
        assert_eq!(
            error("a,1,x"),
            TraceError::NotATime {
                line: 1,
                text: "x".into()
            }
        );
        assert_eq!(
            error("a,1,2\nworker,start,end"),
            TraceError::NotATime {
                line: 2,
                text: "start".into()
            }
        );
        assert!(matches!(
            error("a,1,inf"),
            TraceError::NotATime { line: 1, .. }
        ));
        assert!(matches!(
            error("a,1,NaN"),
            TraceError::NotATime { line: 1, .. }
        ));
        assert_eq!(
            error("a,2,2"),
            TraceError::Backwards {
                line: 1,
                start: 2.0,
                end: 2.0
            }
        );
        let overlap = error("a,1,5\nb,1,5\na,4,9");
        assert!(
            matches!(
                overlap,
                TraceError::Overlap {
                    line: 3,
                    other: 1,
                    ..
                }
            ),
            "{overlap}"
        );
    }
}
