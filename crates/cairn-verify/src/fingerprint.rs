//! Which dag a certificate is about. Knows nothing else of certificates.

use crate::format::Fingerprint;
use crate::width::long;
use cairn_dag::Flow;

/// Tasks, arcs, and the FNV-1a hash (64 bits, in hexadecimal) of all task names in byte order, then of all arcs as
/// pairs of names in that order, each name followed by the byte 255, which no UTF-8 text contains.
///
/// It tells files apart that were mixed up; it is no defence against forgery, and none is needed: every claim of a
/// certificate is checked against the dag at hand. O((tasks + arcs)·log).
pub fn fingerprint(flow: &Flow) -> Fingerprint {
    let dag = flow.dag();
    // Sorted, so that the order of tasks in the file does not matter.
    let mut names: Vec<&str> = dag.tasks().map(|t| flow.name(t)).collect();
    names.sort_unstable();
    let name = |t| flow.name(t);
    let mut arcs: Vec<(&str, &str)> = dag.arcs().map(|(p, c)| (name(p), name(c))).collect();
    arcs.sort_unstable();
    // The offset and, below, the prime that define FNV-1a of 64 bits: they are part of the format.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut feed = |text: &str| {
        for &byte in text.as_bytes().iter().chain(&[255]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    names.iter().for_each(|n| feed(n));
    arcs.iter().for_each(|(p, c)| {
        feed(p);
        feed(c);
    });
    Fingerprint {
        tasks: long(dag.len()),
        arcs: long(dag.arc_count()),
        hash: format!("{hash:016x}"),
    }
}
