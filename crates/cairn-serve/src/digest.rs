//! Digests that are kept: the same on every machine and in every version. Knows no store.

use cairn_dag::Flow;

/// FNV-1a of 64 bits. Not for secrets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

/// The digest of some bytes: for names that later versions must find again.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut digest = Digest::new();
    digest.bytes(bytes);
    digest.0
}

impl Digest {
    pub(crate) fn new() -> Digest {
        // FNV-1a of 64 bits, its offset here and its prime below: the same in every release, as stores hold it.
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// A text, told apart from what follows.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        // No text has this byte: where one ends and the next begins cannot be mistaken.
        self.bytes(&[0xff]);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn done(self) -> u64 {
        self.0
    }
}

/// A digest of the names and arcs of a flow: equal only where tasks have the same numbers and parents.
pub(crate) fn flow_digest(flow: &Flow) -> u64 {
    let mut digest = Digest::new();
    for task in flow.dag().tasks() {
        digest.text(flow.name(task));
        for &parent in flow.dag().parents(task) {
            digest.bytes(&parent.0.to_le_bytes());
        }
    }
    digest.done()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::Dag;

    #[test]
    fn digests_do_not_change_between_versions() {
        let mut digest = Digest::new();
        digest.bytes(b"foobar");
        assert_eq!(
            digest.done(),
            0x8594_4171_f739_67e8,
            "published test vector"
        );
    }

    #[test]
    fn other_arcs_or_names_are_another_flow() {
        let flow = |arcs: &[(u32, u32)]| Flow::numbered(&Dag::from_arcs(3, arcs.to_vec()).unwrap());
        let one = flow_digest(&flow(&[(0, 1)]));
        assert_eq!(one, flow_digest(&flow(&[(0, 1)])));
        assert_ne!(one, flow_digest(&flow(&[(0, 2)])));
        assert_ne!(one, flow_digest(&flow(&[(0, 1), (1, 2)])));
    }
}
