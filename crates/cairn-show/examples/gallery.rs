//! Draws a sample of every figure into a directory: `cargo run -p cairn-show --example gallery -- DIR`.

use cairn_dag::{Dag, TaskId};
use cairn_show::{
    Captioned, DagDrawing, EligibilityCurves, Estimate, Figure, HeatAxis, HeatMap, HeatScale,
    IntervalRow, Intervals, Page, Series, Table, Tradeoff, TradeoffPoint,
};
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let directory = std::env::args().nth(1).ok_or("usage: gallery DIR")?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let figures = vec![
        ("curves", curves()?),
        ("curves-small", small_curves()?),
        ("curves-million", million_curves()?),
        ("dag-small", small_dag()?),
        ("dag-mesh", mesh(6)?),
        ("dag-forkjoin", fork_join(100)?),
        ("dag-airsn", airsn(20)?),
        ("dag-airsn-250", airsn(250)?),
        ("dag-layered", layered(20, 100)?),
        ("dag-layered-150", layered(10, 15)?),
        ("dag-50k", layered(500, 100)?),
        ("dag-pipelines", pipelines(400)?),
        ("heat-map", heat_map()?),
        ("tradeoff", tradeoff()?),
        ("intervals", intervals()?),
    ];
    for (name, figure) in &figures {
        std::fs::write(directory.join(format!("{name}.svg")), figure.svg())?;
        std::fs::write(directory.join(format!("{name}.png")), figure.png(1.0)?)?;
    }
    let captioned: Vec<Captioned<'_>> = figures
        .iter()
        .map(|(name, figure)| Captioned {
            figure,
            caption: name,
        })
        .collect();
    let rows = vec![
        vec!["ic".to_owned(), "12,345".to_owned(), "99.6 %".to_owned()],
        vec!["fifo".to_owned(), "9,000".to_owned(), "72.0 %".to_owned()],
    ];
    let table = Table {
        caption: "Policies",
        header: &["policy", "area", "of the bound"],
        rows: &rows,
    };
    let page = Page {
        title: "Gallery",
        lead: "Every kind of figure once.",
        tables: &[table],
        figures: &captioned,
        footer: "made by the example gallery",
    };
    std::fs::write(directory.join("gallery.html"), page.html())?;
    Ok(())
}

/// A small generator, so that the pictures are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn draw(title: &str, dag: &Dag, names: &[String], order: &[TaskId]) -> Result<Figure> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let stem = |name: &&'_ str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
            .len()
    };
    let kinds: Vec<&str> = names.iter().map(|name| &name[..stem(name)]).collect();
    let drawing = DagDrawing {
        names: &names,
        order,
        kinds: &kinds,
        ..DagDrawing::new(title, dag)
    };
    Ok(drawing.draw()?)
}

fn numbered(word: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{word}{i}")).collect()
}

fn small_dag() -> Result<Figure> {
    let names: Vec<String> = [
        "fetch_reference",
        "fetch_samples",
        "index",
        "trim_1",
        "trim_2",
        "trim_3",
        "align_1",
        "align_2",
        "align_3",
        "merge",
        "call_variants",
        "report",
    ]
    .iter()
    .map(|n| n.to_string())
    .collect();
    let arcs = vec![
        (0, 2),
        (1, 3),
        (1, 4),
        (1, 5),
        (2, 6),
        (2, 7),
        (2, 8),
        (3, 6),
        (4, 7),
        (5, 8),
        (6, 9),
        (7, 9),
        (8, 9),
        (9, 10),
        (0, 10),
        (10, 11),
        (1, 11),
    ];
    let dag = Dag::from_arcs(12, arcs)?;
    let order = dag.topological_order().to_vec();
    draw("A small workflow", &dag, &names, &order)
}

fn mesh(levels: u32) -> Result<Figure> {
    let id = |level: u32, i: u32| level * (level + 1) / 2 + i;
    let mut arcs = Vec::new();
    for level in 0..levels - 1 {
        for i in 0..=level {
            arcs.extend([
                (id(level, i), id(level + 1, i)),
                (id(level, i), id(level + 1, i + 1)),
            ]);
        }
    }
    let n = id(levels, 0) as usize;
    let dag = Dag::from_arcs(n, arcs)?;
    draw(
        "Mesh of 6 levels",
        &dag,
        &numbered("m", n),
        dag.topological_order(),
    )
}

fn fork_join(width: u32) -> Result<Figure> {
    let arcs = (1..=width).flat_map(|v| [(0, v), (v, width + 1)]).collect();
    let n = width as usize + 2;
    let dag = Dag::from_arcs(n, arcs)?;
    let mut names = numbered("work_", n);
    names[0] = "fork".into();
    names[n - 1] = "join".into();
    draw(
        "Fork and join, width 100",
        &dag,
        &names,
        dag.topological_order(),
    )
}

/// A handle, a fork of `width` whose arms each have a second parent, a join, and a fork and join again.
fn airsn(width: u32) -> Result<Figure> {
    let handle = 20;
    let mut arcs: Vec<(u32, u32)> = (1..handle).map(|v| (v - 1, v)).collect();
    let (fringe, first) = (handle, handle + width);
    let (join, second, end) = (first + width, first + width + 1, first + 2 * width + 1);
    for i in 0..width {
        arcs.extend([
            (handle - 1, first + i),
            (fringe + i, first + i),
            (first + i, join),
        ]);
        arcs.extend([(join, second + i), (second + i, end)]);
    }
    let n = end as usize + 1;
    let dag = Dag::from_arcs(n, arcs)?;
    let names: Vec<String> = (0..n as u32)
        .map(|v| match v {
            v if v < handle => format!("prepare_{v}"),
            v if v < first => format!("input_{}", v - fringe),
            v if v < join => format!("align_{}", v - first),
            v if v == join => "mean".to_owned(),
            v if v < end => format!("reslice_{}", v - second),
            _ => "softmean".to_owned(),
        })
        .collect();
    draw(
        &format!("AIRSN of width {width}"),
        &dag,
        &names,
        dag.topological_order(),
    )
}

fn layered(levels: u32, width: u32) -> Result<Figure> {
    let mut random = Random(7);
    let mut arcs = Vec::new();
    for level in 1..levels {
        for i in 0..width {
            for _ in 0..1 + random.below(3) {
                arcs.push(((level - 1) * width + random.below(width), level * width + i));
            }
        }
    }
    let n = (levels * width) as usize;
    let dag = Dag::from_arcs(n, arcs)?;
    let title = format!("Random, {levels} levels of {width}");
    draw(&title, &dag, &numbered("task_", n), dag.topological_order())
}

fn pipelines(count: u32) -> Result<Figure> {
    let mut arcs = Vec::new();
    let mut names = vec!["split".to_owned(), "gather".to_owned()];
    for i in 0..count {
        let a = 2 + 4 * i;
        arcs.extend([
            (0, a),
            (a, a + 1),
            (a, a + 2),
            (a + 1, a + 3),
            (a + 2, a + 3),
            (a + 3, 1),
        ]);
        names.extend(["map", "left", "right", "reduce"].map(|word| format!("{word}_{i}")));
    }
    let dag = Dag::from_arcs(names.len(), arcs)?;
    draw(
        "400 small diamonds in parallel",
        &dag,
        &names,
        dag.topological_order(),
    )
}

/// The eligible tasks after each step of the order that `pick` makes.
fn profile(dag: &Dag, mut pick: impl FnMut(&[TaskId]) -> usize) -> Vec<u32> {
    let mut waiting: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
    let mut eligible: Vec<TaskId> = dag.sources().collect();
    let mut profile = vec![eligible.len() as u32];
    while !eligible.is_empty() {
        let task = eligible.remove(pick(&eligible));
        for &child in dag.children(task) {
            waiting[child.index()] -= 1;
            if waiting[child.index()] == 0 {
                eligible.push(child);
            }
        }
        profile.push(eligible.len() as u32);
    }
    profile
}

fn five_profiles(dag: &Dag) -> Vec<(&'static str, Vec<u32>)> {
    let mut random = Random(3);
    let by = |key: fn(&Dag, TaskId) -> usize| {
        move |eligible: &[TaskId]| {
            (0..eligible.len())
                .max_by_key(|&i| (key(dag, eligible[i]), eligible.len() - i))
                .unwrap_or(0)
        }
    };
    vec![
        (
            "most children",
            profile(dag, by(|dag, t| dag.children(t).len())),
        ),
        ("fifo", profile(dag, |_| 0)),
        ("lifo", profile(dag, |eligible| eligible.len() - 1)),
        ("latest id", profile(dag, by(|_, t| t.index()))),
        (
            "random",
            profile(dag, |eligible| random.below(eligible.len() as u32) as usize),
        ),
    ]
}

fn draw_curves(title: &str, profiles: &[(&str, Vec<u32>)]) -> Result<Figure> {
    let series: Vec<Series<'_>> = profiles
        .iter()
        .map(|(name, profile)| Series { name, profile })
        .collect();
    let steps = profiles[0].1.len();
    let bound: Vec<u32> = (0..steps)
        .map(|t| {
            profiles
                .iter()
                .filter_map(|p| p.1.get(t))
                .max()
                .copied()
                .unwrap_or(0)
        })
        .collect();
    let optimal: Vec<u32> = (0..steps as u32)
        .filter(|&t| profiles[0].1[t as usize] == bound[t as usize])
        .collect();
    let figure = EligibilityCurves {
        title,
        subtitle: "sample data: the bound here is the best of the five",
        series: &series,
        bound: Some(&bound),
        optimal_steps: &optimal,
    };
    Ok(figure.draw()?)
}

fn layered_dag(levels: u32, width: u32) -> Result<Dag> {
    let mut random = Random(11);
    let mut arcs = Vec::new();
    for level in 1..levels {
        for i in 0..width {
            for _ in 0..1 + random.below(3) {
                arcs.push(((level - 1) * width + random.below(width), level * width + i));
            }
        }
    }
    Ok(Dag::from_arcs((levels * width) as usize, arcs)?)
}

fn curves() -> Result<Figure> {
    draw_curves(
        "Eligible tasks of five policies",
        &five_profiles(&layered_dag(15, 60)?),
    )
}

fn small_curves() -> Result<Figure> {
    draw_curves(
        "A dag of 24 tasks",
        &five_profiles(&layered_dag(4, 6)?)[..3],
    )
}

fn million_curves() -> Result<Figure> {
    let mut random = Random(5);
    let n = 1_000_000u32;
    let mut walk = |height: f64| -> Vec<u32> {
        (0..=n)
            .map(|t| {
                let x = f64::from(t) / f64::from(n);
                (height * x * (1.0 - x) * 4.0 * (1.0 + f64::from(random.below(200)) / 1000.0))
                    as u32
            })
            .collect()
    };
    let profiles = [
        ("ic", walk(90_000.0)),
        ("fifo", walk(60_000.0)),
        ("lifo", walk(8_000.0)),
    ];
    draw_curves("A million tasks", &profiles)
}

fn heat_map() -> Result<Figure> {
    let gaps = ["0.001", "0.01", "0.1", "1", "10", "100"];
    let sizes = ["1", "4", "16", "64", "256", "1,024"];
    let mut cells = Vec::new();
    for r in 0..6i32 {
        for c in 0..6i32 {
            let depth = 0.28 / (1.0 + f64::from((r - 2).pow(2) + (c - 3).pow(2)));
            let value = 1.02 - depth + 0.06 * f64::from(r == 5);
            let wide = 0.01 + 0.02 * f64::from(r) / 5.0;
            cells.push(Some(Estimate {
                value,
                low: value - wide,
                high: value + wide,
            }));
        }
    }
    cells[35] = None;
    let map = HeatMap {
        title: "Time of ic over time of fifo",
        subtitle: "AIRSN(250), sample data",
        value_name: "ratio of mean makespans, ic / fifo",
        rows: HeatAxis {
            name: "mean gap (task times)",
            labels: &gaps,
        },
        columns: HeatAxis {
            name: "mean batch size (requests)",
            labels: &sizes,
        },
        cells: &cells,
        scale: HeatScale::Around {
            centre: 1.0,
            below: "ic faster",
            above: "fifo faster",
        },
        decimals: 2,
    };
    Ok(map.draw()?)
}

fn tradeoff() -> Result<Figure> {
    let point = |memory: f64, area: f64, name| TradeoffPoint { memory, area, name };
    let points = [
        point(31.0, 99.6, "ic"),
        point(12.0, 61.0, "cap 12"),
        point(16.0, 78.5, "cap 16"),
        point(20.0, 90.1, "cap 20"),
        point(24.0, 96.0, "cap 24"),
        point(26.0, 72.0, "fifo"),
        point(9.0, 22.0, "lifo"),
        point(30.0, 70.0, "critical path"),
    ];
    let figure = Tradeoff {
        title: "Memory against area",
        subtitle: "sample data",
        memory_name: "peak memory (results held open)",
        area_name: "area (% of the certified bound)",
        points: &points,
        bound: Some(100.0),
    };
    Ok(figure.draw()?)
}

fn intervals() -> Result<Figure> {
    let row = |name, value: f64, half: f64| IntervalRow {
        name,
        estimate: Estimate {
            value,
            low: value - half,
            high: value + half,
        },
    };
    let rows = [
        row("ic", 118.2, 1.4),
        row("critical-path", 121.0, 1.6),
        row("outdegree", 127.9, 2.2),
        row("fifo", 139.4, 2.0),
        row("random", 146.0, 3.1),
    ];
    let figure = Intervals {
        title: "Makespan of five policies",
        subtitle: "200 paired runs, sample data",
        value_name: "makespan (task times)",
        interval_name: "95 % interval",
        rows: &rows,
        reference: None,
    };
    Ok(figure.draw()?)
}
