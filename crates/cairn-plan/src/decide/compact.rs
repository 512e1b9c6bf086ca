//! Executes nothing before it is needed: an order at least as good at every step. Knows only who needs what.

/// Reorders so that each node comes just before the first gain that needs it.
///
/// `gains` are the gains of `order` in the order in which they are made; `needs` lists the nodes of a gain, and
/// `index` numbers nodes. Every
/// gain is made as early as before or earlier, because what is executed by then is just what the gains up to it
/// need: the new order is at least as good at every step. Nodes that no gain needs come last.
/// O(nodes + needs·log needs).
pub(super) fn compacted<N: Copy, G: Copy, I: Iterator<Item = N>>(
    order: &[N],
    gains: &[G],
    needs: impl Fn(G) -> I,
    index: impl Fn(N) -> usize,
) -> Vec<N> {
    let length = order.iter().map(|&v| index(v) + 1).max().unwrap_or(0);
    let mut place = vec![0; length];
    for (i, &v) in order.iter().enumerate() {
        place[index(v)] = i;
    }
    let mut is_left = vec![true; order.len()];
    let mut compacted = Vec::with_capacity(order.len());
    let mut places: Vec<usize> = Vec::new();
    for &gain in gains {
        places.extend(needs(gain).map(|v| place[index(v)]).filter(|&i| is_left[i]));
        // In the old order among themselves, so that gates stay respected.
        places.sort_unstable();
        for i in places.drain(..) {
            is_left[i] = false;
            compacted.push(order[i]);
        }
    }
    compacted.extend((0..order.len()).filter(|&i| is_left[i]).map(|i| order[i]));
    compacted
}
