//! Executes nothing before it is needed: an order at least as good at every step. Knows only who needs what.

/// Reorders so that each node comes just before the first gain that needs it.
///
/// `gains` are the gains of `order` in the order in which they are made; `needs` lists the nodes of a gain. Every
/// gain is made as early as before or earlier, because what is executed by then is just what the gains up to it
/// need: the new order is at least as good at every step. Nodes that no gain needs come last.
/// O(nodes + needs·log needs).
pub(super) fn compact<I: Iterator<Item = u32>>(
    order: &[u32],
    gains: &[u32],
    needs: impl Fn(u32) -> I,
) -> Vec<u32> {
    let length = order.iter().max().map_or(0, |&v| v as usize + 1);
    let mut place = vec![0; length];
    for (i, &v) in order.iter().enumerate() {
        place[v as usize] = i;
    }
    let mut is_left = vec![true; order.len()];
    let mut compacted = Vec::with_capacity(order.len());
    let mut places: Vec<usize> = Vec::new();
    for &gain in gains {
        places.extend(
            needs(gain)
                .map(|v| place[v as usize])
                .filter(|&i| is_left[i]),
        );
        places.sort_unstable();
        for i in places.drain(..) {
            is_left[i] = false;
            compacted.push(order[i]);
        }
    }
    compacted.extend((0..order.len()).filter(|&i| is_left[i]).map(|i| order[i]));
    compacted
}
