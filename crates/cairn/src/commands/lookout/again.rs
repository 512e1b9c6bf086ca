//! Chooses the order again while a run goes on, by simulating the workers that are seen. Has no clock, and asks nobody: it is
//! told what was seen.

use super::super::contender::name;
use super::super::estimates::less_or_more;
use super::super::orders::{self, Orders, policy_of};
use super::super::world;
use crate::failure::Failure;
use crate::plural::counted;
use cairn_dag::Flow;
use cairn_plan::Work;
use cairn_serve::http::Left;
use cairn_serve::{About, Found};
use cairn_sim::{Rematch, Rest, Sighting};

/// The runs of a contest are the same every time.
// The one of `simulate` too, so that people can see by hand what was seen here.
pub(super) const SEED: u64 = 1;

/// Another order than the one in force, where it gains enough with such workers. The same for the same that was seen.
pub(super) fn again(
    flow: &Flow,
    seen: &Sighting,
    left: &Left,
    work: &Work<'_>,
) -> Result<Option<Found>, Failure> {
    let rest = Rest::new(flow.dag(), &left.is_over, &left.rank, &left.seconds);
    if !rest.is_worth_it(seen) {
        return Ok(None);
    }
    let Ok(part) = flow.induced(rest.tasks()) else {
        return Ok(None);
    };
    let rematch = Rematch::new(part.dag(), &rest, seen).map_err(world::refused)?;
    let plan = orders::usual(&part, &mut work.unmetered());
    let orders = Orders::new(part.dag(), Some(rest.seconds()), Some(&plan));
    let found = rematch.winner(orders.rules(), SEED, work);
    let Some(found) = found.map_err(|e| world::failed(&e, &part))? else {
        return Ok(None);
    };
    let why = format!(
        "chosen again after {}, for the {} seen: its time is {} ({})",
        counted(seen.executed() as usize, "task"),
        counted(seen.processors(), "processor"),
        less_or_more(&[("the order before".to_owned(), found.gain)]),
        counted(found.runs, "run"),
    );
    Ok(Some(Found {
        order: Some(found.order),
        about: About {
            policy: "auto".to_owned(),
            chosen: name(&policy_of(found.rule)),
            settled: true,
            why,
            ..About::default()
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::Dag;
    use cairn_sim::Glimpse;

    /// Chains that are listed last and take long, behind many short tasks that open nothing.
    fn flow() -> Flow {
        let (short, long) = (120u32, 12u32);
        let arcs = (short..short + long - 1).map(|t| (t, t + 1)).collect();
        Flow::numbered(&Dag::from_arcs((short + long) as usize, arcs).unwrap())
    }

    fn left(flow: &Flow, executed: usize) -> Left {
        let tasks = flow.dag().len();
        Left {
            is_over: (0..tasks).map(|t| t < executed).collect(),
            seconds: (0..tasks)
                .map(|t| if t < 120 { 1.0 } else { 10.0 })
                .collect(),
            rank: (0..tasks as u64).collect(),
        }
    }

    fn seen(speeds: &[f64], executed: u64) -> Sighting {
        let mut seen = Sighting::default();
        for second in 0..10 {
            let glimpse = Glimpse {
                came: speeds.len() as u64,
                went: 0,
                speeds,
                executed,
            };
            seen.hear(f64::from(second), &glimpse);
        }
        seen
    }

    #[test]
    fn the_order_changes_where_that_gains_and_stays_where_it_does_not() {
        let flow = flow();
        let eight = seen(&[1.0; 8], 40);
        let state = left(&flow, 40);
        let found = again(&flow, &eight, &state, &Work::unlimited()).unwrap();
        let found = found.expect("the long chain goes first");
        let order = found.order.unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, flow.dag().tasks().collect::<Vec<_>>());
        let place = |t: u32| order.iter().position(|o| o.0 == t).unwrap();
        assert!((0..40).all(|t| place(t) < 40), "what is over comes first");
        assert!(place(120) < 60, "{}", place(120));
        assert!(found.about.settled && found.about.policy == "auto");
        assert!(found.about.why.contains("chosen again after 40 tasks"));
        assert!(
            found.about.why.contains("8 processors"),
            "{}",
            found.about.why
        );
        // The same again for the same that was seen.
        let twice = again(&flow, &eight, &state, &Work::unlimited())
            .unwrap()
            .unwrap();
        assert_eq!(twice.order.as_ref(), Some(&order));
        assert_eq!(twice.about, found.about);
        // With that order in force there is nothing to gain, nor with one worker, nor at the end.
        let mut after = state.clone();
        for (place, task) in order.iter().enumerate() {
            after.rank[task.index()] = place as u64;
        }
        assert!(
            again(&flow, &eight, &after, &Work::unlimited())
                .unwrap()
                .is_none()
        );
        let alone = seen(&[1.0], 40);
        assert!(
            again(&flow, &alone, &state, &Work::unlimited())
                .unwrap()
                .is_none()
        );
        let end = left(&flow, 118);
        assert!(
            again(&flow, &eight, &end, &Work::unlimited())
                .unwrap()
                .is_none()
        );
        // Who is stopped changes nothing.
        assert!(
            again(&flow, &eight, &state, &Work::until(&|| true))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn those_who_come_and_go_do_so_in_the_simulation() {
        let mut now = Sighting::default();
        for second in 0..100u64 {
            // One comes and one goes every ten seconds, of four.
            let went = second / 10;
            let glimpse = Glimpse {
                came: 4 + went,
                went,
                speeds: &[1.0; 4],
                executed: second,
            };
            now.hear(second as f64, &glimpse);
        }
        let flow = flow();
        let found = again(&flow, &now, &left(&flow, 20), &Work::unlimited()).unwrap();
        assert!(found.is_some());
    }
}
