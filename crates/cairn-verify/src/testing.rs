//! Certificates written the slow and obvious way, and what is true of them. For tests alone; knows no planner.

use crate::fingerprint;
use crate::format::{
    Certificate, Corner, Evidence, Piece, Refusal, SearchRecord, VERSION, Verdict, Witness,
};
use cairn_dag::{Dag, Flow, FlowBuilder, TaskId};
use cairn_oracle::{
    Among, best_profile, gain, ic_optimal_order, ideals, is_independent, mask, most_between,
    only_best, profile,
};
use std::collections::VecDeque;

/// A dag with names, and all that brute force knows of it.
pub(crate) struct Known {
    pub(crate) flow: Flow,
    /// The most eligible tasks after each step.
    pub(crate) best: Vec<u64>,
    pub(crate) admits: bool,
    /// The corners of the hull: sets of tasks with children, from none to all.
    pub(crate) corners: Vec<u32>,
}

impl Known {
    pub(crate) fn new(dag: &Dag) -> Known {
        let mut builder = FlowBuilder::new();
        let tasks: Vec<_> = (dag.tasks())
            .map(|t| builder.declare(&name(t), 0).unwrap())
            .collect();
        for (p, c) in dag.arcs() {
            builder.arc(tasks[p.index()], tasks[c.index()]).unwrap();
        }
        Known {
            flow: builder.finish().unwrap(),
            best: best_profile(dag).into_iter().map(u64::from).collect(),
            admits: ic_optimal_order(dag).is_some(),
            corners: corners(dag),
        }
    }

    pub(crate) fn dag(&self) -> &Dag {
        self.flow.dag()
    }

    /// The bound by the hull alone.
    fn by_hull(&self) -> Vec<u64> {
        let dag = self.dag();
        let sources = dag.sources().count() as u64;
        let point = |set: u32| (u64::from(set.count_ones()), u64::from(gain(dag, set)));
        (0..=dag.len() as u64)
            .map(|t| {
                let next = self.corners.partition_point(|&c| point(c).0 <= t);
                let (a, r) = point(self.corners[next - 1]);
                let more = self.corners.get(next).map_or(0, |&c| {
                    let (b, s) = point(c);
                    (s - r) * (t - a) / (b - a)
                });
                sources + r + more - t
            })
            .collect()
    }

    /// A certificate for this order and this bound, with as much evidence as it takes.
    pub(crate) fn certificate(
        &self,
        order: &[TaskId],
        bound: Vec<u64>,
        refusal: Option<Refusal>,
    ) -> Certificate {
        let profile: Vec<u64> = profile(self.dag(), order)
            .into_iter()
            .map(u64::from)
            .collect();
        let by_hull = self.by_hull();
        let lower = |&(t, &b): &(usize, &u64)| b < by_hull[t];
        let bounds: Vec<(u64, u64)> = (bound.iter().enumerate().filter(lower))
            .map(|(t, &b)| (t as u64, b))
            .collect();
        let verdict = match (&refusal, bound == profile) {
            (Some(_), _) => Verdict::NoneExists,
            (None, true) => Verdict::Optimal,
            (None, false) => Verdict::Open,
        };
        Certificate {
            version: VERSION,
            dag: fingerprint(&self.flow),
            verdict,
            order: order.iter().map(|&t| name(t)).collect(),
            profile,
            bound,
            evidence: Evidence {
                hull: pieces(self.dag(), &self.corners, order),
                blocks: None,
                search: (!bounds.is_empty()).then(|| SearchRecord {
                    bounds,
                    components: 1,
                    methods: Vec::new(),
                }),
            },
            refusal,
            storage: None,
        }
    }

    /// Whether everything that a certificate claims is so, word for word.
    pub(crate) fn is_true(&self, certificate: &Certificate) -> bool {
        let bound_holds = (self.best.iter().zip(&certificate.bound)).all(|(best, b)| best <= b);
        let verdict_holds = match certificate.verdict {
            Verdict::Optimal => certificate.profile == self.best,
            Verdict::NoneExists => !self.admits,
            _ => true,
        };
        let reason_holds = certificate
            .refusal
            .as_ref()
            .is_none_or(|r| self.is_reason(r));
        bound_holds && verdict_holds && reason_holds
    }

    /// Whether a reason is so, word for word.
    fn is_reason(&self, refusal: &Refusal) -> bool {
        let dag = self.dag();
        let at = |step: u64| only_best(dag, step as usize);
        match refusal {
            Refusal::Crossing {
                vertex,
                vertex_set,
                other,
                step,
                witness,
            } => {
                let mut corners = vec![(*vertex, vertex_set)];
                corners.extend(other.as_ref().map(|c| (c.vertex, &c.vertex_set)));
                if corners.iter().any(|(v, set)| at(*v) != self.set(set)) {
                    return false;
                }
                let (mut lower, mut upper) = (0, u32::MAX);
                for (v, set) in corners {
                    let set = self.set(set).unwrap();
                    match v < *step {
                        true => lower |= set,
                        false => upper &= set,
                    }
                }
                let step = *step as usize;
                let goal = match witness {
                    Some(w) => {
                        let set = self
                            .set(&w.set)
                            .filter(|set| ideals(dag)[step].contains(set));
                        if set.map(|s| u64::from(gain(dag, s))) != Some(w.gain) {
                            return false;
                        }
                        Some(w.gain as u32)
                    }
                    None => most_between(dag, step, 0, u32::MAX),
                };
                most_between(dag, step, lower, upper) < goal
            }
            Refusal::Component {
                from, to, tasks, ..
            } => {
                let (Some(a), Some(b), Some(tasks)) = (at(*from), at(*to), self.set(tasks)) else {
                    return false;
                };
                let rest = b & !a & !tasks;
                let among = Among::new(dag, a, tasks);
                a & !b == 0
                    && tasks & !(b & !a) == 0
                    && is_independent(dag, a, tasks, rest)
                    && among.nest_through() + 1 < among.0.len()
            }
            Refusal::Sum { from, to } => {
                let (Some(a), Some(b)) = (at(*from), at(*to)) else {
                    return false;
                };
                let among = Among::new(dag, a, b & !a);
                a & !b == 0 && among.nest_through() + 1 < among.0.len()
            }
            Refusal::Asserted { .. } => true,
        }
    }

    /// The set of these names, each named once.
    fn set(&self, names: &[String]) -> Option<u32> {
        let tasks: Option<Vec<TaskId>> = names.iter().map(|n| self.flow.find(n)).collect();
        let set = mask(&tasks?);
        (set.count_ones() as usize == names.len()).then_some(set)
    }

    /// What some ideal that the certificate shows has eligible at each step: boundaries of pieces, the order without
    /// its sinks, a witness; and what is larger.
    pub(crate) fn shown(&self, certificate: &Certificate) -> Vec<u64> {
        let dag = self.dag();
        let number = |&i: &u32| self.flow.find(&certificate.order[i as usize]).unwrap();
        let mut sets = vec![0];
        let mut set = 0;
        for piece in &certificate.evidence.hull {
            set |= mask(&piece.executed.iter().map(number).collect::<Vec<_>>());
            sets.push(set);
        }
        set = 0;
        for name in &certificate.order {
            let task = self.flow.find(name).unwrap();
            if !dag.is_sink(task) {
                set |= mask(&[task]);
                sets.push(set);
            }
        }
        if let Some(Refusal::Crossing {
            witness: Some(w), ..
        }) = &certificate.refusal
        {
            sets.extend(self.set(&w.set));
        }
        let sources = dag.sources().count() as u64;
        (0..=dag.len())
            .map(|t| {
                let small = sets.iter().filter(|s| s.count_ones() as usize <= t);
                let most = small.map(|&s| gain(dag, s)).max().unwrap_or(0);
                sources + u64::from(most) - t as u64
            })
            .collect()
    }

    /// Every reason of every kind that can be put into words about corners, parts and some sets: true ones and others.
    pub(crate) fn reasons(&self) -> Vec<Refusal> {
        let dag = self.dag();
        let names = |set: u32| -> Vec<String> {
            (0..dag.len())
                .filter(|i| set >> i & 1 == 1)
                .map(|i| name(TaskId::new(i)))
                .collect()
        };
        let size = |set: u32| u64::from(set.count_ones());
        let mut all = vec![Refusal::Asserted {
            reason: "so I say".to_owned(),
        }];
        for (i, &a) in self.corners.iter().enumerate() {
            for &b in &self.corners[i + 1..] {
                all.push(Refusal::Sum {
                    from: size(a),
                    to: size(b),
                });
                // Parts, a task, all but a task, and all of it; between neighbours, and others.
                let inside = b & !a;
                let mut parts: Vec<u32> = components(dag, a, inside);
                let first = inside & inside.wrapping_neg();
                parts.extend([first, inside & !first, inside]);
                all.extend(parts.into_iter().map(|tasks| Refusal::Component {
                    from: size(a),
                    to: size(b),
                    tasks: names(tasks),
                    method: "invented".to_owned(),
                    states: 1,
                }));
            }
        }
        let layers = ideals(dag);
        let last = self.corners[self.corners.len() - 1].count_ones() as usize;
        for step in 1..=last {
            let best = layers[step]
                .iter()
                .copied()
                .max_by_key(|&s| gain(dag, s))
                .unwrap();
            let witness = |set: u32| Witness {
                set: names(set),
                gain: u64::from(gain(dag, set)),
            };
            let j = self
                .corners
                .partition_point(|c| c.count_ones() as usize <= step);
            for witness in [None, Some(witness(best)), Some(witness(layers[step][0]))] {
                for (i, &corner) in self.corners.iter().enumerate() {
                    let is_inner = 0 < i && i + 1 == j && j + 1 < self.corners.len();
                    let after = self.corners.get(j).filter(|_| is_inner);
                    for other in [None].into_iter().chain(after.map(Some)) {
                        all.push(Refusal::Crossing {
                            vertex: size(corner),
                            vertex_set: names(corner),
                            other: other.map(|&set| Corner {
                                vertex: size(set),
                                vertex_set: names(set),
                            }),
                            step: step as u64,
                            witness: witness.clone(),
                        });
                    }
                }
            }
        }
        all
    }
}

fn name(task: TaskId) -> String {
    format!("t{}", task.0)
}

/// The smallest sets of `tasks` that are independent of the rest after `before`, by joining what meets in a child.
fn components(dag: &Dag, before: u32, tasks: u32) -> Vec<u32> {
    let mut parts: Vec<u32> = (0..dag.len())
        .map(|i| 1 << i)
        .filter(|task| task & tasks != 0)
        .collect();
    for child in dag.tasks() {
        let parents = mask(dag.parents(child));
        if parents & !(before | tasks) != 0 {
            continue;
        }
        let met = (parents | 1 << child.0) & tasks;
        let met = if parents & tasks == 0 { 0 } else { met };
        let (joined, apart): (Vec<u32>, Vec<u32>) = parts.iter().partition(|&&p| p & met != 0);
        parts = apart;
        parts.extend((!joined.is_empty()).then(|| joined.iter().fold(0, |a, b| a | b)));
    }
    parts
}

/// The only best sets at the corners of the hull, by looking at every ideal of tasks with children.
fn corners(dag: &Dag) -> Vec<u32> {
    let nonsinks: u32 = (dag.tasks().filter(|&t| !dag.is_sink(t)))
        .map(|t| 1u32 << t.0)
        .sum();
    let best: Vec<(i64, u32)> = (ideals(dag).iter().take(nonsinks.count_ones() as usize + 1))
        .map(|layer| {
            let sets = layer.iter().filter(|&&s| s & !nonsinks == 0);
            sets.map(|&s| (i64::from(gain(dag, s)), s)).max().unwrap()
        })
        .collect();
    let mut corners: Vec<usize> = Vec::new();
    for t in 0..best.len() {
        while let [.., a, b] = corners[..] {
            let rise = |x: usize, y: usize| (best[y].0 - best[x].0, (y - x) as i64);
            let ((r, c), (s, d)) = (rise(a, b), rise(b, t));
            if r * d > s * c {
                break;
            }
            corners.pop();
        }
        corners.push(t);
    }
    corners.into_iter().map(|t| best[t].1).collect()
}

/// One piece for each edge of the hull, with a flow found by augmenting paths.
fn pieces(dag: &Dag, corners: &[u32], order: &[TaskId]) -> Vec<Piece> {
    let place = |t: TaskId| order.iter().position(|&o| o == t).unwrap() as u32;
    let has = |set: u32, t: TaskId| set >> t.0 & 1 == 1;
    let enables = |set: u32, t: TaskId| !dag.is_source(t) && mask(dag.parents(t)) & !set == 0;
    (corners.windows(2))
        .map(|w| {
            let executed: Vec<TaskId> = (dag.tasks().filter(|&t| has(w[1] & !w[0], t))).collect();
            let eligible: Vec<TaskId> = (dag
                .tasks()
                .filter(|&t| enables(w[1], t) && !enables(w[0], t)))
            .collect();
            let flows = flows(dag, &executed, &eligible);
            Piece {
                cost: executed.len() as u64,
                reward: eligible.len() as u64,
                executed: executed.iter().map(|&t| place(t)).collect(),
                eligible: eligible.iter().map(|&t| place(t)).collect(),
                flows: flows
                    .into_iter()
                    .map(|(p, c, f)| (place(p), place(c), f))
                    .collect(),
            }
        })
        .collect()
}

/// What each eligible child hands to its executed parents. Nodes: a source, in(v), out(v), a sink.
fn flows(dag: &Dag, executed: &[TaskId], eligible: &[TaskId]) -> Vec<(TaskId, TaskId, u64)> {
    let n = dag.len();
    let (source, sink) = (2 * n, 2 * n + 1);
    let (input, output) = (|t: TaskId| t.index(), |t: TaskId| n + t.index());
    let mut room = vec![vec![0u64; 2 * n + 2]; 2 * n + 2];
    const ANY: u64 = 1 << 40;
    for &v in eligible {
        room[source][input(v)] = executed.len() as u64;
        for &p in dag.parents(v).iter().filter(|p| executed.contains(p)) {
            room[input(v)][output(p)] = ANY;
        }
    }
    for &v in executed {
        room[output(v)][sink] = eligible.len() as u64;
        if eligible.contains(&v) {
            room[output(v)][input(v)] = ANY;
        }
    }
    let first = room.clone();
    loop {
        let mut from = vec![usize::MAX; room.len()];
        let mut queue = VecDeque::from([source]);
        from[source] = source;
        while let Some(at) = queue.pop_front() {
            for to in 0..room.len() {
                if room[at][to] > 0 && from[to] == usize::MAX {
                    from[to] = at;
                    queue.push_back(to);
                }
            }
        }
        if from[sink] == usize::MAX {
            break;
        }
        let mut path = vec![sink];
        while path[path.len() - 1] != source {
            path.push(from[path[path.len() - 1]]);
        }
        let steps = || path.windows(2).map(|w| (w[1], w[0]));
        let most = steps().map(|(a, b)| room[a][b]).min().unwrap();
        for (a, b) in steps() {
            room[a][b] -= most;
            room[b][a] += most;
        }
    }
    // What in(v) and out(v) hand each other goes round in no circle: only what is left over counts.
    let arcs = dag.arcs().map(|(p, c)| {
        (
            p,
            c,
            first[input(c)][output(p)].saturating_sub(room[input(c)][output(p)]),
        )
    });
    arcs.filter(|a| a.2 > 0).collect()
}
