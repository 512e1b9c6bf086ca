//! Linearization of dags of about 10⁶ tasks: seconds from the frozen dag to the proved order.

use crate::measure::timed_on_cpu;
use crate::random::Random;
use cairn_dag::{Dag, TaskId};
use cairn_theory::Work;
use cairn_theory::linearize::linearize;
use cairn_theory::profile::profile;
use cairn_theory::split::Decomposition;
use cairn_theory::strand::Strand;
use cairn_theory::survey::{Survey, SurveyEffort};

/// Prints one line a dag: its size, which theorem proved the order, and the time.
pub fn run() {
    println!(
        "{:34} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>8} {:>13}  proof",
        "dag", "tasks", "arcs", "blocks", "classes", "split", "survey", "seconds", "ns/task+arc"
    );
    for (name, make) in CASES {
        let dag = make();
        let (blocks, split) = timed_on_cpu(|| Decomposition::new(&dag).len());
        let (classes, survey) = timed_on_cpu(|| {
            Survey::new(&dag, &SurveyEffort::default(), &mut Work::unlimited())
                .classes()
                .len()
        });
        let (result, seconds) =
            timed_on_cpu(|| linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()));
        let proof = match &result {
            Ok(found) => {
                profile(&dag, &found.order).expect("a linearization is a schedule");
                format!("{:?}", found.proof.theorem())
            }
            Err(failure) => failure.obstacle.to_string(),
        };
        let (tasks, arcs) = (dag.len(), dag.arc_count());
        let each = seconds * 1e9 / (tasks + arcs) as f64;
        println!(
            "{name:34} {tasks:8} {arcs:8} {blocks:8} {classes:7} {split:7.3} {survey:7.3} {seconds:8.3} {each:13.0}  {proof}"
        );
    }
}

type Case = (&'static str, fn() -> Dag);

const CASES: &[Case] = &[
    ("evolving mesh, 1,000 levels", || mesh(1_000)),
    ("reduction-mesh, 1,000 levels", || reversed(&mesh(1_000))),
    ("reduction-tree, 2^20 leaves", || reduction_tree(20)),
    ("out-tree, 2^20 leaves", || reversed(&reduction_tree(20))),
    ("FFT, d = 16", || fft(16)),
    ("W-strand, degrees 2..9", || {
        sum(&[strand(Form::W, 1_000_000, 9, 1)])
    }),
    ("M-strand, degrees 2..4", || {
        sum(&[strand(Form::M, 500_000, 4, 2)])
    }),
    ("T-strand, degrees 2..4", || {
        sum(&[strand(Form::T, 1_000_000, 4, 3)])
    }),
    ("W, M and T of 3·10⁵ sources", || {
        sum(&[
            strand(Form::W, 330_000, 9, 4),
            strand(Form::M, 170_000, 4, 5),
            strand(Form::T, 330_000, 4, 6),
        ])
    }),
    ("10⁵ W, M, T of about 10 sources", || {
        sum(&short_strands(100_000, 7))
    }),
    ("W-sum feeding an M-sum", || expansive_reductive(20_000, 8)),
    ("random ▷-linear composite", || {
        linear_composite(1_000_000, 9)
    }),
    ("the same with 10⁵ shortcuts", || {
        with_shortcuts(&linear_composite(1_000_000, 9), 100_000)
    }),
];

fn dag(tasks: usize, arcs: Vec<(u32, u32)>) -> Dag {
    Dag::from_arcs(tasks, arcs).expect("generators make dags")
}

fn reversed(of: &Dag) -> Dag {
    dag(of.len(), of.arcs().map(|(a, b)| (b.0, a.0)).collect())
}

fn mesh(levels: u32) -> Dag {
    let id = |level: u32, x: u32| level * (level + 1) / 2 + x;
    let below = |l: u32, x: u32| [(id(l, x), id(l + 1, x)), (id(l, x), id(l + 1, x + 1))];
    let arcs = (0..levels - 1).flat_map(|l| (0..=l).flat_map(move |x| below(l, x)));
    dag((levels * (levels + 1) / 2) as usize, arcs.collect())
}

fn reduction_tree(height: u32) -> Dag {
    let n = (2u32 << height) - 1;
    dag(n as usize, (1..n).map(|v| (v, (v - 1) / 2)).collect())
}

fn fft(d: u32) -> Dag {
    let width = 1u32 << d;
    let butterfly = |l: u32, x: u32| {
        let (here, below) = (l * width, (l + 1) * width);
        [(here + x, below + x), (here + x, below + (x ^ 1 << l))]
    };
    let arcs = (0..d).flat_map(|l| (0..width).flat_map(move |x| butterfly(l, x)));
    dag((width * (d + 1)) as usize, arcs.collect())
}

enum Form {
    W,
    M,
    T,
}

/// A strand with this many degrees, drawn from 2..=most.
fn strand(form: Form, count: usize, most: u32, seed: u64) -> Strand {
    let mut random = Random(seed);
    let drawn: Vec<u32> = (0..count).map(|_| 2 + random.below(most - 1)).collect();
    let spread = || drawn.iter().flat_map(|&d| [2, d]);
    let degrees: Vec<u32> = match form {
        Form::W => spread().skip(1).collect(),
        Form::M => [1].into_iter().chain(spread().skip(1)).collect(),
        Form::T => drawn,
    };
    Strand::from_degrees(&degrees).expect("degrees are at least 2")
}

fn short_strands(count: usize, seed: u64) -> Vec<Strand> {
    let mut random = Random(seed);
    let draw = |random: &mut Random| {
        let length = 1 + random.below(12) as usize;
        let seed = u64::from(random.below(u32::MAX));
        match random.below(3) {
            0 => strand(Form::W, length, 5, seed),
            1 => strand(Form::M, length, 3, seed),
            _ => strand(Form::T, length, 4, seed),
        }
    };
    (0..count).map(|_| draw(&mut random)).collect()
}

fn sum(strands: &[Strand]) -> Dag {
    let mut arcs = Vec::new();
    let mut next = 0;
    for strand in strands {
        let block = strand.to_bipartite();
        let first_sink = next + block.sources() as u32;
        arcs.extend(block.arcs().map(|(u, v)| (next + u, first_sink + v)));
        next = first_sink + block.sinks() as u32;
    }
    dag(next as usize, arcs)
}

/// A sum of random W-strands whose sinks, in order, are the sources of a sum of random M-strands.
fn expansive_reductive(strands: usize, seed: u64) -> Dag {
    let mut random = Random(seed);
    let mut upper: Vec<Strand> = Vec::new();
    let mut lower: Vec<Strand> = Vec::new();
    for _ in 0..strands {
        let (length, seed) = (
            1 + random.below(12) as usize,
            u64::from(random.below(u32::MAX)),
        );
        upper.push(strand(Form::W, length, 5, seed));
        lower.push(strand(Form::M, length, 5, seed));
    }
    let (top, bottom) = (sum(&upper), sum(&lower));
    // The two are dual to each other strand by strand, so that sinks and sources match in number.
    let sinks: Vec<TaskId> = top.sinks().collect();
    let sources: Vec<TaskId> = bottom.sources().collect();
    let mut id = vec![0; bottom.len()];
    for (source, sink) in sources.iter().zip(&sinks) {
        id[source.index()] = sink.0;
    }
    let mut next = top.len() as u32;
    for sink in bottom.sinks() {
        id[sink.index()] = next;
        next += 1;
    }
    let below = bottom.arcs().map(|(a, b)| (id[a.index()], id[b.index()]));
    let arcs = top.arcs().map(|(a, b)| (a.0, b.0)).chain(below);
    dag(next as usize, arcs.collect())
}

/// Blocks W by falling degree, N, then M by rising degree, each fed by tasks of earlier blocks chosen at random.
fn linear_composite(tasks: u32, seed: u64) -> Dag {
    let mut random = Random(seed);
    let mut grow = Grow {
        arcs: Vec::new(),
        tasks: 0,
        open: Vec::new(),
    };
    let phases = 2 * 9 + 1;
    for phase in 0..phases {
        let until = (u64::from(tasks) * (phase + 1) / phases) as u32;
        let mut lengths: Vec<u32> = Vec::new();
        let degree = if phase < 9 {
            10 - phase as u32
        } else {
            phase as u32 - 8
        };
        let each = if phase < 9 { degree * 4 } else { 8 };
        lengths.extend((0..until.saturating_sub(grow.tasks) / each).map(|_| 1 + random.below(8)));
        lengths.sort_unstable();
        if phase > 9 {
            lengths.reverse();
        }
        for length in lengths {
            if grow.tasks >= until {
                break;
            }
            let row = (0..length).flat_map(|u| (0..degree).map(move |i| (u, u * (degree - 1) + i)));
            match phase {
                0..9 => grow.add(
                    length,
                    length * (degree - 1) + 1,
                    row.collect(),
                    &mut random,
                ),
                9 => {
                    let arcs = (0..length).flat_map(|u| [(u, u), (u, u + 1)]);
                    grow.add(
                        length,
                        length,
                        arcs.filter(|a| a.1 < length).collect(),
                        &mut random,
                    );
                }
                _ => grow.add(
                    length * (degree - 1) + 1,
                    length,
                    row.map(|(v, u)| (u, v)).collect(),
                    &mut random,
                ),
            }
        }
    }
    dag(grow.tasks as usize, grow.arcs)
}

struct Grow {
    arcs: Vec<(u32, u32)>,
    tasks: u32,
    /// Sinks so far.
    open: Vec<u32>,
}

impl Grow {
    fn add(&mut self, sources: u32, sinks: u32, arcs: Vec<(u32, u32)>, random: &mut Random) {
        let ids: Vec<u32> = (0..sources)
            .map(|_| {
                if self.open.is_empty() || random.below(4) == 0 {
                    self.tasks += 1;
                    return self.tasks - 1;
                }
                let pick = random.below(self.open.len() as u32) as usize;
                self.open.swap_remove(pick)
            })
            .collect();
        let first = self.tasks;
        self.tasks += sinks;
        self.arcs
            .extend(arcs.iter().map(|&(u, v)| (ids[u as usize], first + v)));
        self.open.extend(first..self.tasks);
    }
}

/// Adds arcs from random tasks to grandchildren of theirs.
fn with_shortcuts(of: &Dag, count: usize) -> Dag {
    let mut random = Random(5);
    let mut arcs: Vec<(u32, u32)> = of.arcs().map(|(a, b)| (a.0, b.0)).collect();
    let goal = arcs.len() + count;
    while arcs.len() < goal {
        let task = TaskId(random.below(of.len() as u32));
        let grandchild = of
            .children(task)
            .first()
            .and_then(|&c| of.children(c).last());
        arcs.extend(grandchild.map(|g| (task.0, g.0)));
    }
    dag(of.len(), arcs)
}
