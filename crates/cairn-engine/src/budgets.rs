//! Every budget of this crate in one table, each with its reason: how many are looked at, and how often, before an answer is
//! given. Not here are numbers that describe workers or a formula (`book.rs`), and those of the policy for volunteers
//! (`trust/numbers.rs`).

/// Storage under a cap.
pub(crate) mod storage {
    /// Places of π that are looked at for a task that goes next by it.
    // When nothing runs the very first may start: the others are only more to choose from.
    pub(crate) const NEXT: usize = 64;

    /// Tasks that the keeper is asked about in the order of priorities, before those that its own order has next.
    // Under a tight cap nearly all are refused: no request must go through the whole queue. What has to start for the run
    // to go on is found by the keeper's own order. How many is a judgement.
    pub(crate) const ASKED: usize = 64;

    /// Caps of a curve.
    // Each is a whole order of all tasks; a dozen draw a curve.
    pub(crate) const POINTS: usize = 12;
}

/// One request of a worker.
pub(crate) mod request {
    /// Tasks that are longest out, looked at when somebody fast has nothing to do.
    // A request must not go over all that is out; how many is a judgement.
    pub(crate) const LONGEST_OUT: usize = 256;

    /// Tasks of a class that are too large for a worker's disk, passed over to find one that is not.
    // Each is taken out of the queue and put back, for every request; how many is a judgement.
    pub(crate) const PASSED: usize = 64;
}

/// Who gets what by speeds.
pub(crate) mod dispatch {
    /// Up to so many busy lanes, all are looked at whenever somebody asks; of more only those that come first.
    // A request is to cost microseconds, however many workers there are. The number is a judgement.
    pub(crate) const FEW_LANES: usize = 64;

    /// Lanes of a class looked at again before a request is answered, where there are many.
    // Those that are not looked at now still come first when the next one asks. A judgement.
    pub(crate) const LANES: usize = 4;

    /// Eligible tasks that are looked at.
    // The prototype's: so a request costs some hundred comparisons, however many tasks are eligible; `fill` sees to the rest.
    pub(crate) const ELIGIBLE: usize = 64;

    /// Tasks are added up in no more than about so many pieces; smaller dags one by one.
    // All are gone over for every horizon. In pieces of several tasks it is too long by one piece's work at the most. How
    // many is a judgement.
    pub(crate) const PIECES: usize = 512;

    /// The most copies of a task at a time.
    // The prototype's: with three, copies were 1.6 to 3.6 % of all executions.
    pub(crate) const COPIES: usize = 3;

    /// Running tasks that are considered for a copy, of those that end last.
    // Each is weighed for every idle lane; how many is a judgement.
    pub(crate) const LATEST: usize = 16;

    /// Among how many of those that end last these are looked for: some have as many copies as they may.
    // A judgement: a request must not go over all that runs.
    pub(crate) const ENDS: usize = 256;

    /// After so many idle lanes in a row for whom there is nothing, slower ones are not asked.
    // The fastest come first: what is worth nothing to them is hardly worth anything to slower ones. A judgement.
    pub(crate) const MISSES: usize = 8;
}
