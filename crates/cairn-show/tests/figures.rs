//! Laws that hold for every figure, whatever the data: well-formed, no text outside or on top of another, the same
//! bytes each time, nothing of the caller's text taken for markup.

use cairn_dag::{Dag, TaskId};
use cairn_show::{
    Captioned, DagDrawing, Direction, EligibilityCurves, Estimate, Figure, HeatAxis, HeatMap,
    HeatScale, IntervalRow, Intervals, Nodes, Page, Series, ShowError, Table, Tradeoff,
    TradeoffPoint,
};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{0}\u{202E}\u{FFFF}]]>";

/// The laws of every figure.
fn check(figure: &Figure) {
    let document = roxmltree::Document::parse(figure.svg()).expect("well-formed XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    for node in document.descendants().filter(|n| n.is_element()) {
        let name = node.tag_name().name();
        let known = [
            "svg", "desc", "rect", "line", "circle", "path", "text", "g", "title",
        ];
        assert!(known.contains(&name), "an element of the caller's? {name}");
        for attribute in node.attributes() {
            let value = attribute.value();
            assert!(
                !value.contains("NaN") && !value.contains("inf"),
                "{name} {value}"
            );
            let harmless =
                !attribute.name().starts_with("on") && !attribute.name().ends_with("href");
            assert!(
                harmless && attribute.name() != "id",
                "{name} {}",
                attribute.name()
            );
        }
    }
    let labels = figure.labels();
    for (i, label) in labels.iter().enumerate() {
        let inside = label.left >= 0.0
            && label.top >= 0.0
            && label.right <= figure.width()
            && label.bottom <= figure.height();
        assert!(
            inside,
            "outside {} x {}: {label:?}",
            figure.width(),
            figure.height()
        );
        for other in &labels[..i] {
            assert!(!label.overlaps(other), "{label:?} lies on {other:?}");
        }
    }
}

/// A dag from arbitrary pairs: arcs go from smaller to larger numbers.
fn dag_of(tasks: usize, raw: &[(u32, u32)]) -> Dag {
    let arcs = raw
        .iter()
        .map(|&(a, b)| (a % tasks as u32, b % tasks as u32))
        .filter(|(a, b)| a != b);
    Dag::from_arcs(tasks, arcs.map(|(a, b)| (a.min(b), a.max(b))).collect()).unwrap()
}

fn names_strategy() -> impl Strategy<Value = Vec<String>> {
    let name = prop_oneof![
        "[a-z_]{0,30}",
        any::<String>(),
        Just(HOSTILE.to_owned()),
        Just("W".repeat(900))
    ];
    prop::collection::vec(name, 60)
}

/// Numbers of an SVG path, commands left out.
fn numbers(path: &str) -> Vec<f64> {
    (path.split(|c: char| c.is_ascii_alphabetic() || c == ' '))
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect()
}

/// The boxes (left, top, right, bottom) of the nodes and the arcs (from node, to node, numbers of the path).
#[expect(clippy::type_complexity, reason = "read once, a few lines below")]
fn parts(figure: &Figure) -> (Vec<[f64; 4]>, Vec<(usize, usize, Vec<f64>)>) {
    let document = roxmltree::Document::parse(figure.svg()).unwrap();
    let mut boxes = Vec::new();
    let mut arcs = Vec::new();
    for node in document.descendants() {
        if node.attribute("class") == Some("node") {
            assert_eq!(
                node.attribute("data-n"),
                Some(boxes.len().to_string().as_str())
            );
            let mut around = [f64::INFINITY, f64::INFINITY, 0.0, 0.0];
            for rect in node.children().filter(|n| n.tag_name().name() == "rect") {
                let value = |name| rect.attribute(name).unwrap().parse::<f64>().unwrap();
                let (x, y) = (value("x"), value("y"));
                around = [
                    around[0].min(x),
                    around[1].min(y),
                    around[2].max(x + value("width")),
                    around[3].max(y + value("height")),
                ];
            }
            boxes.push(around);
        }
        if let (Some(a), Some(b)) = (node.attribute("data-a"), node.attribute("data-b")) {
            arcs.push((
                a.parse().unwrap(),
                b.parse().unwrap(),
                numbers(node.attribute("d").unwrap()),
            ));
        }
    }
    (boxes, arcs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Boxes do not overlap, arcs leave a box at its lower edge and end at the upper edge of a lower one.
    #[test]
    fn dags_obey_the_laws(
        tasks in 0usize..60,
        raw in prop::collection::vec((0u32..999, 0u32..999), 0..150),
        names in names_strategy(),
        picks in prop::collection::vec(0u32..9, 60),
        max_nodes in 1usize..70,
        (named, ordered, grouped, down) in any::<(bool, bool, bool, bool)>(),
    ) {
        let dag = if tasks == 0 { Dag::empty() } else { dag_of(tasks, &raw) };
        let names: Vec<&str> = names[..tasks].iter().map(String::as_str).collect();
        let order = dag.topological_order().to_vec();
        let words = ["align", "sort", HOSTILE, "A:B:C", "A:B:D", "lib/x", "lib/y", "", "t"];
        let kinds: Vec<&str> = picks[..tasks].iter().map(|&p| words[p as usize]).collect();
        let drawing = DagDrawing {
            names: if named { &names } else { &[] },
            order: if ordered { &order } else { &[] },
            kinds: if grouped { &kinds } else { &[] },
            nodes: Nodes::AtMost(max_nodes),
            direction: if down { Direction::Down } else { Direction::Auto },
            ..DagDrawing::new(HOSTILE, &dag)
        };
        let figure = drawing.draw().unwrap();
        check(&figure);
        prop_assert!(figure.svg() == drawing.draw().unwrap().svg(), "the same input, the same bytes");
        let (boxes, arcs) = parts(&figure);
        let all_tasks = boxes.len() == tasks && tasks <= 2 * max_nodes;
        prop_assert!((all_tasks || boxes.len() <= max_nodes) && (boxes.is_empty() == dag.is_empty()));
        // Every task can be found, in a box that is there.
        prop_assert_eq!(figure.index().len(), tasks);
        prop_assert!(figure.index().iter().all(|&(node, _)| (node as usize) < boxes.len()));
        for (i, a) in boxes.iter().enumerate() {
            prop_assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= figure.width() && a[3] <= figure.height());
            for b in &boxes[..i] {
                prop_assert!(a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1], "{a:?} on {b:?}");
            }
        }
        for (a, b, path) in arcs {
            let (start, end) = ([path[0], path[1]], [path[path.len() - 2], path[path.len() - 1]]);
            let touches = |x: f64, y: f64| (x - y).abs() < 0.02;
            let (a, b) = (boxes[a], boxes[b]);
            let downward = touches(start[1], a[3]) && touches(end[1], b[1]) && start[1] < end[1];
            let rightward = touches(start[0], a[2]) && touches(end[0], b[0]) && start[0] < end[0];
            prop_assert!(downward || (rightward && !down), "{a:?} -> {b:?}: {path:?}");
        }
    }

    #[test]
    fn curves_obey_the_laws(
        profiles in prop::collection::vec(prop::collection::vec(0u32..5000, 0..90), 0..12),
        scale in prop::sample::select(vec![1u32, 1000, 400_000]),
        with_bound in any::<bool>(),
    ) {
        let profiles: Vec<Vec<u32>> =
            profiles.into_iter().map(|p| p.into_iter().map(|v| v * scale).collect()).collect();
        let series: Vec<Series<'_>> = profiles.iter().map(|profile| Series { name: HOSTILE, profile }).collect();
        let optimal: Vec<u32> = (0..profiles.first().map_or(0, Vec::len) as u32).step_by(3).collect();
        let curves = EligibilityCurves {
            title: HOSTILE,
            subtitle: HOSTILE,
            series: &series,
            bound: profiles.first().filter(|_| with_bound).map(Vec::as_slice),
            optimal_steps: &optimal,
        };
        let figure = curves.draw().unwrap();
        check(&figure);
        prop_assert!(figure.svg() == curves.draw().unwrap().svg(), "the same input, the same bytes");
    }

    #[test]
    fn heat_maps_obey_the_laws(
        (rows, columns) in (0usize..9, 0usize..14),
        values in prop::collection::vec((0.001f64..900.0, 0.0f64..3.0, any::<bool>()), 130),
        labels in names_strategy(),
        rising in any::<bool>(),
        decimals in 0u32..6,
    ) {
        let cells: Vec<Option<Estimate>> = values[..rows * columns].iter()
            .map(|&(value, half, there)| there.then_some(Estimate { value, low: value - half, high: value + half }))
            .collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let map = HeatMap {
            title: HOSTILE,
            subtitle: HOSTILE,
            value_name: HOSTILE,
            rows: HeatAxis { name: HOSTILE, labels: &labels[..rows] },
            columns: HeatAxis { name: HOSTILE, labels: &labels[30..30 + columns] },
            cells: &cells,
            scale: if rising {
                HeatScale::Rising
            } else {
                HeatScale::Around { centre: 1.0, below: HOSTILE, above: HOSTILE }
            },
            decimals,
        };
        let figure = map.draw().unwrap();
        check(&figure);
        prop_assert!(figure.svg() == map.draw().unwrap().svg(), "the same input, the same bytes");
    }

    #[test]
    fn trade_offs_obey_the_laws(
        points in prop::collection::vec((0.0f64..1e9, -5.0f64..200.0), 0..40),
        names in names_strategy(),
        bound in prop::option::of(0.0f64..200.0),
    ) {
        let points: Vec<TradeoffPoint<'_>> = points.iter().zip(&names)
            .map(|(&(memory, area), name)| TradeoffPoint { memory, area, name }).collect();
        let tradeoff = Tradeoff {
            title: HOSTILE,
            subtitle: HOSTILE,
            memory_name: HOSTILE,
            area_name: HOSTILE,
            points: &points,
            bound,
        };
        let figure = tradeoff.draw().unwrap();
        check(&figure);
        prop_assert!(figure.svg() == tradeoff.draw().unwrap().svg(), "the same input, the same bytes");
    }

    #[test]
    fn intervals_obey_the_laws(
        values in prop::collection::vec((-1e7f64..1e7, 0.0f64..1e6), 0..20),
        scale in prop::sample::select(vec![1e-9, 1e-3, 1.0, 1e3]),
        names in names_strategy(),
        reference in prop::option::of(-10.0f64..10.0),
    ) {
        let rows: Vec<IntervalRow<'_>> = values.iter().zip(&names)
            .map(|(&(value, half), name)| {
                let (value, half) = (value * scale, half * scale);
                IntervalRow { name, estimate: Estimate { value, low: value - half, high: value + half } }
            })
            .collect();
        let intervals = Intervals {
            title: HOSTILE,
            subtitle: HOSTILE,
            value_name: HOSTILE,
            interval_name: HOSTILE,
            rows: &rows,
            reference,
        };
        let figure = intervals.draw().unwrap();
        check(&figure);
        prop_assert!(figure.svg() == intervals.draw().unwrap().svg(), "the same input, the same bytes");
    }
}

#[test]
fn no_task_and_one_task() {
    let empty = DagDrawing::new("nothing", &Dag::empty()).draw().unwrap();
    check(&empty);
    assert!(empty.svg().contains("0 tasks, 0 arcs"));
    assert!(empty.png(1.0).is_ok());
    let one = Dag::from_arcs(1, vec![]).unwrap();
    let drawing = DagDrawing {
        names: &["alone"],
        order: &[TaskId(0)],
        kinds: &["single"],
        ..DagDrawing::new("one", &one)
    };
    let figure = drawing.draw().unwrap();
    check(&figure);
    assert!(figure.labels().iter().any(|l| l.text == "alone"));
    let nothing = EligibilityCurves {
        title: "",
        subtitle: "",
        series: &[],
        bound: None,
        optimal_steps: &[],
    };
    check(&nothing.draw().unwrap());
}

#[test]
fn a_million_steps_make_a_small_file_quickly() {
    let profile: Vec<u32> = (0..=1_000_000u32).map(|t| (t % 977) * (t % 13)).collect();
    let optimal: Vec<u32> = (0..=1_000_000).filter(|t| t % 2 == 0).collect();
    let start = Instant::now();
    let figure = EligibilityCurves {
        title: "a million",
        subtitle: "",
        series: &[
            Series {
                name: "ic",
                profile: &profile,
            },
            Series {
                name: "fifo",
                profile: &profile[..500_000],
            },
        ],
        bound: Some(&profile),
        optimal_steps: &optimal,
    }
    .draw()
    .unwrap();
    assert!(start.elapsed() < Duration::from_secs(30));
    check(&figure);
    assert!(figure.svg().len() < 400_000, "{}", figure.svg().len());
    assert!(figure.svg().contains("500,001 of 1,000,001 steps"));
}

#[test]
fn fifty_thousand_tasks_are_collapsed_quickly() {
    let width = 250u32;
    let mut arcs = Vec::new();
    for v in width..50_000 {
        let above = v / width - 1;
        for k in 0..3 {
            arcs.push((above * width + (v * 7 + k * k * 31) % width, v));
        }
    }
    let dag = Dag::from_arcs(50_000, arcs).unwrap();
    let names: Vec<String> = dag.tasks().map(|t| format!("kind{}", t.0 % 19)).collect();
    let kinds: Vec<&str> = names.iter().map(String::as_str).collect();
    let many: Vec<String> = dag.tasks().map(|t| format!("own{}", t.0)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let start = Instant::now();
    for kinds in [&kinds[..], &[], &many[..]] {
        let drawing = DagDrawing {
            kinds,
            order: dag.topological_order(),
            ..DagDrawing::new("large", &dag)
        };
        let figure = drawing.draw().unwrap();
        check(&figure);
        let (boxes, _) = parts(&figure);
        assert!(boxes.len() <= 48 && boxes.len() > 10, "{}", boxes.len());
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn wide_dags_drawn_in_full_keep_their_distance() {
    let dag = Dag::from_arcs(4000, (1..4000).map(|v| ((v - 1) / 3, v)).collect()).unwrap();
    let drawing = DagDrawing {
        nodes: Nodes::EveryTask,
        order: dag.topological_order(),
        ..DagDrawing::new("tree", &dag)
    };
    let (boxes, _) = parts(&drawing.draw().unwrap());
    assert_eq!(boxes.len(), 4000);
    let mut rows: std::collections::BTreeMap<u64, Vec<[f64; 4]>> = Default::default();
    for b in boxes {
        rows.entry((b[1] * 100.0) as u64).or_default().push(b);
    }
    for row in rows.values_mut() {
        row.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert!(row.windows(2).all(|pair| pair[0][2] < pair[1][0]));
    }
}

/// The pictures hold text even where the machine has no font: only the bundled one is ever asked.
#[test]
fn png_text_needs_no_font_of_the_machine() {
    let dag = Dag::from_arcs(1, vec![]).unwrap();
    let png = |name: &str| {
        DagDrawing {
            names: &[name],
            ..DagDrawing::new("t", &dag)
        }
        .draw()
        .unwrap()
        .png(1.0)
        .unwrap()
    };
    let (a, b) = (png("bb"), png("dd"));
    assert_eq!(a[..8], *b"\x89PNG\r\n\x1a\n");
    assert_ne!(a, b, "same widths, so only the glyphs can differ");
    assert_eq!(a, png("bb"), "same input, same bytes");
}

#[test]
fn a_png_beyond_reason_is_refused() {
    let dag = Dag::from_arcs(1, vec![]).unwrap();
    let figure = DagDrawing::new("t", &dag).draw().unwrap();
    assert!(matches!(
        figure.png(1000.0),
        Err(ShowError::TooLarge { .. })
    ));
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(figure.png(scale), Err(ShowError::Png(_))));
    }
}

#[test]
fn the_page_stands_alone_and_takes_no_text_for_markup() {
    let dag = Dag::from_arcs(3, vec![(0, 1), (0, 2)]).unwrap();
    let names = [
        HOSTILE,
        "</svg></figure><script>alert(2)</script>",
        "<img onerror=alert(3)>",
    ];
    let figure = DagDrawing {
        names: &names,
        ..DagDrawing::new(HOSTILE, &dag)
    }
    .draw()
    .unwrap();
    let rows = vec![
        vec![HOSTILE.to_owned(), "1,203.5 %".to_owned()],
        vec!["short".to_owned()],
    ];
    let page = Page {
        title: HOSTILE,
        lead: HOSTILE,
        tables: &[Table {
            caption: HOSTILE,
            header: &[HOSTILE, "n"],
            rows: &rows,
        }],
        figures: &[Captioned {
            figure: &figure,
            caption: HOSTILE,
        }],
        footer: HOSTILE,
    };
    let html = page.html();
    assert_eq!(html, page.html());
    let count = |needle: &str| html.matches(needle).count();
    assert_eq!(
        (
            count("<script"),
            count("</script"),
            count("<svg"),
            count("</svg"),
            count("<img")
        ),
        (1, 1, 1, 1, 0)
    );
    assert_eq!(
        count("http://") + count("https://"),
        count("http://www.w3.org/2000/svg")
    );
    for outside in [" src=", " href=", "url(", "@import"] {
        assert_eq!(count(outside), 0, "{outside}");
    }
    assert!(html.contains("&lt;img onerror=alert(3)&gt;"));
    assert!(html.contains("<td class=\"number\">1,203.5 %</td>"));
    assert!(!html.contains('\0'));
}

/// The page opens on its first figure; names are text to be searched, and a large dag makes no huge page.
#[test]
fn the_page_opens_on_the_picture_and_knows_every_name() {
    let dag = Dag::from_arcs(50_000, (1..50_000).map(|v| ((v - 1) / 9, v)).collect()).unwrap();
    let names: Vec<String> = dag
        .tasks()
        .map(|t| format!("mDiffFit_ID{:07}<&>", t.0))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let figure = DagDrawing {
        names: &names,
        kinds: &vec!["mDiffFit"; 50_000],
        order: dag.topological_order(),
        ..DagDrawing::new("large", &dag)
    }
    .draw()
    .unwrap();
    let rows = vec![vec!["a".to_owned()]];
    let lead = "a wall of names, ".repeat(400);
    let html = Page {
        title: "large",
        lead: &lead,
        tables: &[Table {
            caption: "t",
            header: &["h"],
            rows: &rows,
        }],
        figures: &[Captioned {
            figure: &figure,
            caption: "",
        }],
        footer: "",
    }
    .html();
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert!(html.find("<figure>").unwrap() < html.find("<table>").unwrap());
    assert!(html.contains("<details class=\"lead\"><summary>a wall of names"));
    assert!(html.contains("<template data-ordered>"));
    assert!(html.contains(" mDiffFit_ID0049999&lt;&amp;&gt;\n"));
    assert_eq!(html.matches("mDiffFit_ID0049999").count(), 1);
    // Without script the tools stay hidden and the picture is whole.
    assert!(html.contains("<div class=\"tools\" hidden>"));
}

/// Pictures change only on purpose. `CAIRN_BLESS=1 cargo test` writes them anew: look at them, then commit.
fn check_golden(name: &str, figure: &Figure) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("CAIRN_BLESS").is_some() {
        std::fs::write(&path, figure.svg()).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(
        golden == figure.svg(),
        "{} differs: look at it with CAIRN_BLESS=1",
        path.display()
    );
}

#[test]
fn golden_dag() {
    let dag = Dag::from_arcs(5, vec![(0, 1), (0, 2), (1, 3), (2, 3), (0, 4), (3, 4)]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let figure = DagDrawing {
        names: &["fetch", "align", "sort", "merge", "report"],
        order: &order,
        kinds: &["curl", "bwa", "samtools", "samtools", "multiqc"],
        ..DagDrawing::new("A diamond and a report", &dag)
    }
    .draw()
    .unwrap();
    check(&figure);
    check_golden("dag.svg", &figure);
}

#[test]
fn golden_curves() {
    let figure = EligibilityCurves {
        title: "Two policies",
        subtitle: "",
        series: &[
            Series {
                name: "ic",
                profile: &[2, 3, 4, 3, 2, 1, 0],
            },
            Series {
                name: "fifo",
                profile: &[2, 2, 3, 3, 2, 1, 0],
            },
        ],
        bound: Some(&[2, 3, 4, 4, 2, 1, 0]),
        optimal_steps: &[0, 1, 2, 4, 5, 6],
    }
    .draw()
    .unwrap();
    check(&figure);
    check_golden("curves.svg", &figure);
}
