//! Why there is no plan. Knows nothing but the words.

/// Why a hull cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HullError {
    /// The weights belong to another dag.
    #[error("the weights are for {given} tasks, but the dag has {tasks}")]
    OtherWeights {
        /// Tasks that the weights are for.
        given: usize,
        /// Tasks of the dag.
        tasks: usize,
    },
    /// The hull belongs to another dag.
    #[error("the hull is that of a dag with {given} tasks, but this one has {tasks}")]
    OtherHull {
        /// Tasks that the hull is for.
        given: usize,
        /// Tasks of the dag.
        tasks: usize,
    },
    /// More than 2³¹ tasks and arcs.
    #[error("the dag has more than 2^31 tasks and arcs: too many for the hull")]
    TooLarge,
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// There is no hull to prove.
    #[error(transparent)]
    Hull(#[from] HullError),
    /// It was time to stop before the proof was complete.
    #[error("it was stopped before the proof was complete")]
    Stopped,
}
