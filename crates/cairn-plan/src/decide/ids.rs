//! Numbers that must not be mixed up, each counted from 0: a type for each. Knows only numbers.

cairn_kernel::ids! {
    /// What lies between two neighbouring strict vertices of the hull, counted along the chain.
    pub IntervalId,
    /// A component of an interval, counted over all of them.
    pub ComponentId,
    /// Components that are equal as values.
    pub(crate) ClassId,
    /// A node of one component: a task to execute.
    pub(crate) NodeId,
    /// A reward of one component: tasks that become eligible together.
    pub(crate) RewardId,
    /// A union of closures that a walk met.
    pub(crate) StateId,
    /// A task's row in a table of ancestors, and its column.
    pub(crate) RowId,
    /// A part in the forest of a bound across intervals.
    pub(crate) PartId,
}
