//! A dag in the making: counts its tasks and arcs before it takes memory for them. Knows no family.

use super::FamilyError;
use crate::Dag;

/// The most tasks, and the most arcs, that 32-bit ids can count.
pub(super) const MOST: u128 = u32::MAX as u128 - 1;

/// Arcs over a known number of tasks, acyclic by construction.
pub(super) struct Draft {
    tasks: usize,
    arcs: Vec<(u32, u32)>,
}

impl Draft {
    /// Room for `tasks` and about `arcs`, both as counted without overflow.
    ///
    /// # Errors
    /// More than ids can count, or than memory can hold.
    pub(super) fn new(tasks: u128, arcs: u128) -> Result<Draft, FamilyError> {
        Ok(Draft {
            arcs: room(tasks, arcs)?,
            tasks: tasks as usize,
        })
    }

    /// Of arcs that are there.
    ///
    /// # Errors
    /// More tasks than ids can count.
    pub(super) fn of(tasks: u128, arcs: Vec<(u32, u32)>) -> Result<Draft, FamilyError> {
        check("tasks", tasks)?;
        let tasks = tasks as usize;
        Ok(Draft { tasks, arcs })
    }

    pub(super) fn arc(&mut self, parent: u32, child: u32) {
        self.arcs.push((parent, child));
    }

    pub(super) fn finish(self) -> Result<Dag, FamilyError> {
        check("arcs", self.arcs.len() as u128)?;
        Ok(Dag::from_arcs(self.tasks, self.arcs).expect("families are dags by construction"))
    }

    /// The dual, with ids turned round as well, so that parents still come before children.
    pub(super) fn finish_upside_down(mut self) -> Result<Dag, FamilyError> {
        let tasks = self.tasks as u32;
        for arc in &mut self.arcs {
            *arc = (tasks - 1 - arc.1, tasks - 1 - arc.0);
        }
        self.finish()
    }
}

/// Room for the arcs of so many tasks, both as counted without overflow.
pub(super) fn room(tasks: u128, arcs: u128) -> Result<Vec<(u32, u32)>, FamilyError> {
    check("tasks", tasks)?;
    check("arcs", arcs)?;
    let mut list = Vec::new();
    // All at once: a family too large for the memory is an error, not the end of the process.
    let reserved = list.try_reserve_exact(arcs as usize);
    reserved.map_err(|_| FamilyError::OutOfMemory { tasks, arcs })?;
    Ok(list)
}

/// Whether 32-bit ids can count so many.
pub(super) fn check(what: &'static str, count: u128) -> Result<(), FamilyError> {
    if count > MOST {
        return Err(FamilyError::TooLarge { what, count });
    }
    Ok(())
}

/// Whether a parameter is large enough.
pub(super) fn at_least(what: &'static str, least: u32, given: u32) -> Result<(), FamilyError> {
    if given < least {
        return Err(FamilyError::TooSmall { what, least, given });
    }
    Ok(())
}
