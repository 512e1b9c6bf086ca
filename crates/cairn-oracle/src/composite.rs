//! Blocks drawn by their definitions, and random dags composed of them. Knows no decomposition.

use crate::Random;
use cairn_dag::Dag;
use proptest::prelude::*;

/// A bipartite dag: arcs from sources `0..sources` to sinks `0..sinks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many sources.
    pub sources: usize,
    /// How many sinks.
    pub sinks: usize,
    /// (source, sink).
    pub arcs: Vec<(u32, u32)>,
}

impl Shape {
    /// W_{s,d}: s sources in a row with d children each, neighbours sharing one.
    pub fn w(s: u32, d: u32) -> Shape {
        let arcs = (0..s).flat_map(|u| (0..d).map(move |i| (u, u * (d - 1) + i)));
        Shape {
            sources: s as usize,
            sinks: (s * (d - 1) + 1) as usize,
            arcs: arcs.collect(),
        }
    }

    /// M_{s,d}: the dual of W_{s,d}.
    pub fn m(s: u32, d: u32) -> Shape {
        Shape::w(s, d).dual()
    }

    /// N_s: source i feeds sinks i and i+1, the last source only its own.
    pub fn n(s: u32) -> Shape {
        let mut shape = Shape::w(s, 2);
        shape.arcs.retain(|a| a.1 < s);
        shape.sinks = s as usize;
        shape
    }

    /// C_s: source i feeds sinks i and i+1 modulo s.
    pub fn c(s: u32) -> Shape {
        let mut shape = Shape::w(s, 2);
        shape.arcs.iter_mut().for_each(|a| a.1 %= s);
        shape.sinks = s as usize;
        shape
    }

    /// K_{s,k}: every source feeds every sink; Q_s is K_{s,s}.
    pub fn k(s: u32, k: u32) -> Shape {
        Shape {
            sources: s as usize,
            sinks: k as usize,
            arcs: (0..s * k).map(|i| (i / k, i % k)).collect(),
        }
    }

    /// The strand T\[δ\]: a backbone of sources and sinks in turn with the given degrees, filled up with leaves.
    pub fn strand(degrees: &[u32]) -> Shape {
        let mut shape = Shape {
            sources: 0,
            sinks: 0,
            arcs: Vec::new(),
        };
        for (i, &degree) in degrees.iter().enumerate() {
            let (here, leaves) = match i % 2 {
                0 => (&mut shape.sources, &mut shape.sinks),
                _ => (&mut shape.sinks, &mut shape.sources),
            };
            // The arc from the backbone node before leads to the last leaf drawn there.
            let (this, had) = match i {
                0 => (0, 0),
                _ => (*here - 1, 1),
            };
            *here = this + 1;
            for _ in had..degree {
                let leaf = *leaves as u32;
                *leaves += 1;
                shape.arcs.push(if i % 2 == 0 {
                    (this as u32, leaf)
                } else {
                    (leaf, this as u32)
                });
            }
        }
        shape
    }

    /// Every arc reversed.
    pub fn dual(&self) -> Shape {
        Shape {
            sources: self.sinks,
            sinks: self.sources,
            arcs: self.arcs.iter().map(|&(u, v)| (v, u)).collect(),
        }
    }

    /// A random connected shape of at most the given size.
    pub fn random(random: &mut Random, sources: usize, sinks: usize) -> Shape {
        let (s, k) = (1 + random.below(sources), 1 + random.below(sinks));
        let mut arcs = vec![(0, 0)];
        let (mut drawn_sources, mut drawn_sinks) = (1, 1);
        while drawn_sources < s || drawn_sinks < k {
            if drawn_sinks < k && (drawn_sources == s || random.below(2) == 0) {
                arcs.push((random.below(drawn_sources) as u32, drawn_sinks as u32));
                drawn_sinks += 1;
            } else {
                arcs.push((drawn_sources as u32, random.below(drawn_sinks) as u32));
                drawn_sources += 1;
            }
        }
        for _ in 0..random.below(s + k) * random.below(2) {
            arcs.push((random.below(s) as u32, random.below(k) as u32));
        }
        arcs.sort_unstable();
        arcs.dedup();
        Shape {
            sources: s,
            sinks: k,
            arcs,
        }
    }

    /// The shape as a dag: sources first, then sinks.
    pub fn dag(&self) -> Dag {
        sum(std::slice::from_ref(self))
    }
}

/// The sum of shapes: side by side, nothing shared.
pub fn sum(shapes: &[Shape]) -> Dag {
    let mut arcs = Vec::new();
    let mut next = 0;
    for shape in shapes {
        let first_sink = next + shape.sources as u32;
        arcs.extend(shape.arcs.iter().map(|&(u, v)| (next + u, first_sink + v)));
        next = first_sink + shape.sinks as u32;
    }
    Dag::from_arcs(next as usize, arcs).expect("arcs lead from sources to sinks")
}

/// A random composite of the given shapes, in this order: some sources of each are identified with sinks of what is
/// there already. At most `most` tasks, shapes that would not fit left out; ids are shuffled. Returns the shapes used.
pub fn compose(shapes: &[Shape], most: usize, random: &mut Random) -> (Dag, Vec<Shape>) {
    let mut tasks = 0u32;
    let mut open: Vec<u32> = Vec::new();
    let mut arcs = Vec::new();
    let mut used = Vec::new();
    for shape in shapes {
        let reach = open.len().min(shape.sources);
        let shared = match random.below(3) {
            0 => reach,
            _ => random.below(reach + 1),
        };
        if tasks as usize + shape.sources - shared + shape.sinks > most {
            continue;
        }
        random.shuffle(&mut open);
        let mut sources: Vec<u32> = open.split_off(open.len() - shared);
        sources.extend(tasks..tasks + (shape.sources - shared) as u32);
        random.shuffle(&mut sources);
        tasks += (shape.sources - shared) as u32;
        arcs.extend(
            shape
                .arcs
                .iter()
                .map(|&(u, v)| (sources[u as usize], tasks + v)),
        );
        open.extend(tasks..tasks + shape.sinks as u32);
        tasks += shape.sinks as u32;
        used.push(shape.clone());
    }
    let mut label: Vec<u32> = (0..tasks).collect();
    random.shuffle(&mut label);
    let arcs = arcs
        .into_iter()
        .map(|(a, b)| (label[a as usize], label[b as usize]));
    let dag = Dag::from_arcs(tasks as usize, arcs.collect());
    (dag.expect("blocks are added below what is there"), used)
}

/// Random shapes: 0 from the catalogue, 1 strands, 2 anything connected, else all of these.
fn random_shapes(random: &mut Random, style: usize, count: usize) -> Vec<Shape> {
    (0..count)
        .map(|_| {
            let style = if style < 3 { style } else { random.below(3) };
            let mut from =
                |low: u32, high: u32| low + random.below((high - low + 1) as usize) as u32;
            match style {
                0 => match from(0, 5) {
                    0 => Shape::w(from(1, 3), from(2, 3)),
                    1 => Shape::m(from(1, 2), from(2, 3)),
                    2 => Shape::n(from(1, 3)),
                    3 => Shape::c(from(2, 3)),
                    4 => Shape::k(from(2, 3), from(2, 3)),
                    _ => Shape::w(1, from(2, 4)),
                },
                1 => {
                    let length = from(1, 5);
                    let degree = |i| if i == 0 { 1 } else { 2 };
                    let degrees: Vec<u32> = (0..length).map(|i| from(degree(i), 4)).collect();
                    Shape::strand(&degrees)
                }
                _ => Shape::random(random, 4, 4),
            }
        })
        .collect()
}

/// Random composite dags of at most `most` tasks, with the shapes they were composed of.
pub fn any_composite(most: usize) -> impl Strategy<Value = (Dag, Vec<Shape>)> {
    (0usize..5, 1usize..7, any::<u64>()).prop_map(move |(style, count, seed)| {
        let mut random = Random::new(seed);
        let shapes = random_shapes(&mut random, style, count);
        compose(&shapes, most, &mut random)
    })
}

/// Random sums of at most `most` tasks.
pub fn any_sum(most: usize) -> impl Strategy<Value = Dag> {
    (0usize..5, 1usize..5, any::<u64>()).prop_map(move |(style, count, seed)| {
        let mut shapes = random_shapes(&mut Random::new(seed), style, count);
        while shapes.iter().map(|s| s.sources + s.sinks).sum::<usize>() > most {
            shapes.pop();
        }
        sum(&shapes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_by_hand() {
        assert_eq!(Shape::w(2, 2).arcs, [(0, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(Shape::n(2).arcs, [(0, 0), (0, 1), (1, 1)]);
        assert_eq!(Shape::c(2).arcs, [(0, 0), (0, 1), (1, 1), (1, 0)]);
        // W[3,2] = T[3,2,2], M[2,3] = T[1,2,2,3].
        assert_eq!(
            Shape::strand(&[3, 2, 2]).arcs,
            [(0, 0), (0, 1), (0, 2), (1, 2), (1, 3)]
        );
        assert_eq!(
            Shape::strand(&[1, 2, 2, 3]).arcs,
            [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1)]
        );
        let (dag, used) = compose(&[Shape::w(1, 2), Shape::m(1, 2)], 9, &mut Random::new(3));
        assert_eq!(used.len(), 2);
        assert_eq!(dag.arc_count(), 4);
    }
}
