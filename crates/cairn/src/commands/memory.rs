//! `cairn plan --memory-cap`: what open results take, in results or bytes, and orders under a cap. Knows no verdict.

use crate::failure::Failure;
use crate::plural::counted;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_formats::size;
use cairn_plan::cap::{self, Capped};
use cairn_theory::memory::open_results;

/// How much may be open, as `--memory-cap` says it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cap {
    Results(u64),
    Bytes(u64),
}

impl Cap {
    /// A plain number counts results; a number with a unit counts bytes.
    pub(crate) fn parse(text: &str) -> Result<Cap, Failure> {
        let results = text.trim().parse().ok().map(Cap::Results);
        let cap = results.or_else(|| size::parse(text).map(Cap::Bytes));
        cap.ok_or_else(|| {
            Failure::usage(
                format!("--memory-cap {text} is neither a number of results nor a size"),
                "give a whole number such as 40, or a size such as 512MB or 2GiB",
            )
        })
    }
}

/// What an open result takes, and how much may be open.
pub(crate) struct Sizes {
    pub(crate) by_task: Vec<u64>,
    pub(crate) unit: &'static str,
    pub(crate) cap: Option<u64>,
    /// Tasks with children whose results have no size in the input: they count as 0 bytes.
    pub(crate) unknown: Vec<TaskId>,
}

impl Sizes {
    /// Bytes are for inputs that have sizes.
    pub(crate) fn new(flow: &Flow, cap: Option<Cap>) -> Result<Sizes, Failure> {
        let cap = match cap {
            Some(Cap::Bytes(most)) => return Sizes::bytes(flow, most),
            Some(Cap::Results(most)) => Some(most),
            None => None,
        };
        Ok(Sizes {
            by_task: vec![1; flow.dag().len()],
            unit: "results",
            cap,
            unknown: Vec::new(),
        })
    }

    /// Bytes of every result that some task waits for.
    fn bytes(flow: &Flow, cap: u64) -> Result<Sizes, Failure> {
        let dag = flow.dag();
        let mut by_task = vec![0; dag.len()];
        let mut unknown = Vec::new();
        let mut total = 0u64;
        for task in dag.tasks().filter(|&t| !dag.is_sink(t)) {
            let sizes = || flow.outputs(task).map(|file| file.bytes);
            let known = sizes()
                .flatten()
                .try_fold(0u64, |sum, bytes| sum.checked_add(bytes));
            let sum = known.and_then(|known| {
                by_task[task.index()] = known;
                total.checked_add(known)
            });
            total = sum.ok_or_else(|| {
                Failure::usage(
                    format!(
                        "the sizes of files add up to more than 2^64 bytes, at the latest those of task '{}'",
                        flow.shown(task)
                    ),
                    "mend the sizes in the input, or give a number of results instead, such as --memory-cap 40",
                )
            })?;
            if sizes().next().is_none() || sizes().any(|bytes| bytes.is_none()) {
                unknown.push(task);
            }
        }
        if total == 0 {
            return Err(Failure::usage(
                "the input gives no file sizes to hold against a cap in bytes",
                "give a number of results instead, such as --memory-cap 40",
            ));
        }
        Ok(Sizes {
            by_task,
            unit: "bytes",
            cap: Some(cap),
            unknown,
        })
    }

    /// What the input does not say and the peak does not hold, if anything.
    pub(crate) fn doubt(&self, flow: &Flow) -> Option<String> {
        const NAMED: usize = 3;
        if self.unknown.is_empty() {
            return None;
        }
        let named: Vec<String> = (self.unknown.iter().take(NAMED))
            .map(|&task| format!("'{}'", flow.shown(task)))
            .collect();
        let more = match self.unknown.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "the input does not give all sizes of the results of {} ({}{more}): what is missing counts as 0 bytes, so \
             that more may be open than the cap allows",
            counted(self.unknown.len(), "task"),
            named.join(", ")
        ))
    }

    /// An amount in words: `40 open results`, `1.2 GB of open results`.
    pub(crate) fn words(&self, amount: u128) -> String {
        match self.unit {
            "bytes" if self.unknown.is_empty() => {
                format!("{} of open results", size::words(amount))
            }
            "bytes" => format!(
                "{} of open results, those of unknown size aside,",
                size::words(amount)
            ),
            _ if amount == 1 => "1 open result".to_owned(),
            _ => format!("{amount} open results"),
        }
    }

    /// An amount as `--memory-cap` takes it.
    fn flag(&self, amount: u128) -> String {
        match self.unit {
            "bytes" => size::exact(amount),
            _ => amount.to_string(),
        }
    }

    /// The most that is open at any step of an order.
    pub(crate) fn peak(&self, dag: &Dag, order: &[TaskId]) -> u64 {
        let open = open_results(dag, order, |t| self.by_task[t.index()]);
        let peak = open.into_iter().max().unwrap_or(0);
        // The sum of all sizes fits, so this does.
        u64::try_from(peak).unwrap_or(u64::MAX)
    }

    /// An amount in the words of an error.
    fn exact(&self, amount: u128) -> String {
        match self.unit {
            "bytes" => size::exact(amount),
            _ => counted(usize::try_from(amount).unwrap_or(usize::MAX), "result"),
        }
    }

    /// Refuses a cap that no order can keep to, as some task alone needs more.
    pub(crate) fn check_cap(&self, dag: &Dag) -> Result<(), Failure> {
        let least = cap::least_possible(dag, &self.by_task);
        match self.cap {
            Some(most) if u128::from(most) < least => Err(Failure::usage(
                format!(
                    "no order stays under a cap of {}: some task alone needs {} open",
                    self.exact(most.into()),
                    self.exact(least)
                ),
                format!("give at least --memory-cap {}", self.flag(least)),
            )),
            _ => Ok(()),
        }
    }

    /// An order of the largest area found that stays under the cap, or why none is.
    pub(crate) fn under_cap(
        &self,
        dag: &Dag,
        order: &[TaskId],
        most: u64,
    ) -> Result<Capped, Failure> {
        cap::under_cap(dag, order, &self.by_task, most.into()).ok_or_else(|| {
            let leanest = cap::follow(dag, order, &self.by_task, 0).peak;
            Failure::usage(
                format!(
                    "found no order under a cap of {} (not a proof that there is none)",
                    self.exact(most.into())
                ),
                format!(
                    "the leanest order found needs --memory-cap {}",
                    self.flag(leanest)
                ),
            )
        })
    }
}
