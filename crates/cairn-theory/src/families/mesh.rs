//! Two-dimensional meshes: evolving (also without end) and reduction ("pyramids"). Knows formulas alone.
//!
//! Task ⟨x, y⟩ is on level x + y and has the number level·(level + 1)/2 + x, in both.

use super::{Family, FamilyError};

/// The most levels with fewer than 2⁶⁴ tasks.
const MOST_LEVELS: u64 = 6_074_000_999;

/// Tasks on levels before this one.
fn before(level: u64) -> u64 {
    // One of the two factors is even; halve that one first.
    if level.is_multiple_of(2) {
        (level / 2) * (level + 1)
    } else {
        level * level.div_ceil(2)
    }
}

/// The level and place in it of a task.
fn place(task: u64) -> (u64, u64) {
    // level·(level + 1) ≤ 2·task < (level + 1)·(level + 2), so the root is the level or one more.
    let root = match task.checked_mul(2) {
        Some(twice) => twice.isqrt(),
        // The last half of the numbers: twice that needs a 65th bit.
        None => (2 * u128::from(task)).isqrt() as u64,
    };
    let level = if u128::from(root) * u128::from(root + 1) / 2 > u128::from(task) {
        root - 1
    } else {
        root
    };
    (level, task - before(level))
}

/// The neighbours of a task on the level before its own.
fn on_level_before(task: u64) -> impl Iterator<Item = u64> {
    let (level, x) = place(task);
    let left = (x > 0).then(|| task - level - 1);
    let right = (x < level).then(|| task - level);
    left.into_iter().chain(right)
}

/// The evolving mesh: ⟨x, y⟩ is a parent of ⟨x + 1, y⟩ and ⟨x, y + 1⟩. One source, ⟨0, 0⟩; of a finite one, the last
/// level are the sinks.
///
/// It is composite of type W₁,₂ ⇑ W₂,₂ ⇑ W₃,₂ ⇑ …; going end to end along each level in turn is IC-optimal. That is
/// the order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvolvingMesh {
    levels: Option<u64>,
}

impl EvolvingMesh {
    /// The mesh without end: its first 2⁶⁴ − 1 tasks can be named.
    pub fn infinite() -> EvolvingMesh {
        EvolvingMesh { levels: None }
    }

    /// The first `levels` levels.
    ///
    /// # Errors
    /// [`FamilyError::TooLarge`] above some six thousand million levels.
    pub fn with_levels(levels: u64) -> Result<EvolvingMesh, FamilyError> {
        if levels > MOST_LEVELS {
            return Err(FamilyError::TooLarge);
        }
        let levels = Some(levels);
        Ok(EvolvingMesh { levels })
    }
}

impl Family for EvolvingMesh {
    fn task_count(&self) -> Option<u64> {
        self.levels.map(before)
    }

    fn place(&self, task: u64) -> (u64, u64) {
        place(task)
    }

    fn parents(&self, task: u64) -> impl Iterator<Item = u64> {
        on_level_before(task)
    }

    /// Children whose numbers exceed 64 bits are left out.
    fn children(&self, task: u64) -> impl Iterator<Item = u64> {
        let (level, _) = place(task);
        let inner = self.levels.is_none_or(|levels| level + 1 < levels);
        let both = [level + 1, level + 2].map(|step| task.checked_add(step).filter(|_| inner));
        both.into_iter().flatten()
    }

    fn source_count(&self) -> u64 {
        self.task_count().map_or(1, |tasks| tasks.min(1))
    }
}

/// The reduction-mesh 𝓜ℓ: ⟨x, y⟩ is a parent of ⟨x − 1, y⟩ and ⟨x, y − 1⟩. The sources are on level ℓ − 1, the sink is
/// ⟨0, 0⟩.
///
/// The order goes end to end along each level, from the sources to the sink: IC-optimal with ℓ open results, the least
/// of all schedules (\[RY05\] Theorems 3.1 and 3.2). Starting amid a level costs one more.
///
/// ```
/// use cairn_theory::families::{Family, ReductionMesh};
/// let mesh = ReductionMesh::with_levels(3).unwrap();
/// assert_eq!(mesh.order().collect::<Vec<_>>(), [3, 4, 5, 1, 2, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionMesh {
    levels: u64,
}

impl ReductionMesh {
    /// The reduction-mesh with this many levels.
    ///
    /// # Errors
    /// [`FamilyError::TooLarge`] above some six thousand million levels.
    pub fn with_levels(levels: u64) -> Result<ReductionMesh, FamilyError> {
        if levels > MOST_LEVELS {
            return Err(FamilyError::TooLarge);
        }
        Ok(ReductionMesh { levels })
    }
}

impl Family for ReductionMesh {
    fn task_count(&self) -> Option<u64> {
        Some(before(self.levels))
    }

    fn place(&self, task: u64) -> (u64, u64) {
        place(task)
    }

    fn parents(&self, task: u64) -> impl Iterator<Item = u64> {
        let (level, _) = place(task);
        let inner = level + 1 < self.levels;
        let both = [level + 1, level + 2].map(|step| inner.then(|| task + step));
        both.into_iter().flatten()
    }

    fn children(&self, task: u64) -> impl Iterator<Item = u64> {
        on_level_before(task)
    }

    fn at(&self, step: u64) -> u64 {
        // From the end, levels come in the order of their numbers and each level backwards.
        let (level, x) = place(before(self.levels) - 1 - step);
        before(level) + level - x
    }

    fn step(&self, task: u64) -> u64 {
        let (level, x) = place(task);
        before(self.levels) - before(level + 1) + x
    }

    fn source_count(&self) -> u64 {
        self.levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_at_the_edges_of_levels() {
        for level in (0..2000).chain([1 << 31, (1 << 32) - 1, 1 << 32, MOST_LEVELS - 1]) {
            let first = before(level);
            assert_eq!(place(first), (level, 0));
            assert_eq!(place(first + level), (level, level));
        }
        assert_eq!(place(u64::MAX).0, MOST_LEVELS);
        assert_eq!(
            EvolvingMesh::with_levels(MOST_LEVELS + 1),
            Err(FamilyError::TooLarge)
        );
        assert_eq!(EvolvingMesh::infinite().children(u64::MAX).count(), 0);
    }
}
