//! Every budget of this crate in one table, each with its reason: how many are looked at, how often before an answer is given, and
//! how many are remembered. Not here are numbers that describe workers, files or a formula (`book.rs`, `sizes.rs`), and those of
//! the policy for volunteers (`trust/numbers.rs`, `trust/reputation.rs`).

/// A run, where nobody says otherwise.
pub(crate) mod rules {
    use crate::Span;

    /// A task over which so many workers were lost is given up.
    // It may well be the reason for it. A judgement.
    pub(crate) const LOSSES: u32 = 5;

    /// A worker that was not heard of for so long is lost.
    // Three of its heartbeats. A judgement: far less, and a machine that is busy for a moment loses what it has done; far more, and
    // a task waits for somebody who is gone.
    pub(crate) const SILENCE: Span = Span::seconds(15);

    /// So many gone workers are remembered, for whoever looks.
    // A judgement: what each did stays in the journal.
    pub(crate) const GONE: usize = 1_000;
}

/// What is kept beyond its moment.
pub(crate) mod remembered {
    /// More workers or volunteers than so many are not remembered: those that were seen last are.
    // The file is read and written as a whole, once a minute.
    pub(crate) const WORKERS: usize = 10_000;

    /// No more tasks of earlier runs than these count for how much a kind varies.
    // Machines change, so that what is returned today soon says more. A judgement.
    pub(crate) const TASKS: u64 = 20;

    /// So many ended attempts are remembered by a client: more than a server can tell of in one answer to a worker of usual size.
    // A judgement: far fewer, and an answer under way could begin anew what was just ended; far more is memory for what
    // no answer tells.
    pub(crate) const STOPPED: usize = 1024;
}

/// Of very many ancestors that were given up, so many are named where somebody asks why a task is not running.
// A judgement: people read it, and whoever has seen to these asks again.
pub(crate) const NAMED: usize = 20;

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

    /// With more files to resize than this share of all, everything is numbered anew instead.
    // One file moves the peaks of all places between its writer and its last reader; numbering goes over all places once.
    pub(crate) const RESIZED: usize = 16;
}

/// One request of a worker.
pub(crate) mod request {
    /// Tasks that are longest out, looked at when somebody fast has nothing to do.
    // A request must not go over all that is out; how many is a judgement.
    pub(crate) const LONGEST_OUT: usize = 256;

    /// Tasks of a class that are too large for a worker's disk, passed over to find one that is not.
    // Each is taken out of the queue and put back, for every request; how many is a judgement.
    pub(crate) const PASSED: usize = 64;

    /// A wide task is overtaken so often for each processor of a worker before its room is kept there: twice what that may run at
    /// once.
    // A judgement: less often, and processors stand idle for it; more often, and it waits longer than what overtakes it.
    pub(crate) const OVERTAKEN: u32 = 2;

    /// As if the worker had no fewer processors than these.
    // A judgement: on a small one a few narrow tasks come first by chance alone.
    pub(crate) const FEWEST_CPUS: u32 = 4;
}

/// Who gets what by speeds.
pub(crate) mod dispatch {
    /// Up to so many busy lanes, all are looked at whenever somebody asks; of more only those that come first.
    // A request is to cost microseconds, however many workers there are. The number is a judgement.
    pub(crate) const FEW_LANES: usize = 64;

    /// No worker has more lanes than this, however many processors it says it has: nobody counts on when the rest will be free.
    // Anybody can say any number, and each lane takes room.
    pub(crate) const LANES_A_WORKER: u32 = 1024;

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

    /// A child with more parents than this is counted when somebody asks what a running task unlocks, not for each of its parents
    /// whenever it begins or ceases to count: else every lease that is lost would cost, for each child, all its parents.
    // A judgement: what is asked about is a few running tasks a request, and hardly a task of a real workflow has so many parents.
    pub(crate) const MANY_PARENTS: usize = 64;

    /// Among how many of those that end last these are looked for: some have as many copies as they may.
    // A judgement: a request must not go over all that runs.
    pub(crate) const ENDS: usize = 256;

    /// After so many idle lanes in a row for whom there is nothing, slower ones are not asked.
    // The fastest come first: what is worth nothing to them is hardly worth anything to slower ones. A judgement.
    pub(crate) const MISSES: usize = 8;
}
