//! What is proved of an order, in one word. Knows no proofs.

/// What is proved of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No order has more eligible tasks at any step.
    Optimal,
    /// Every order falls short of the best at some step.
    NoneExists,
    /// Another order is optimal, and this one is not. Never said of a plan's own order.
    Suboptimal,
    /// Not decided within the budget.
    Open,
}

impl Verdict {
    /// The word for it in JSON and in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Optimal => "optimal",
            Verdict::NoneExists => "none-exists",
            Verdict::Suboptimal => "suboptimal",
            Verdict::Open => "open",
        }
    }

    /// The verdict of this name.
    ///
    /// ```
    /// use cairn_theory::Verdict;
    /// assert_eq!(Verdict::named("none-exists"), Some(Verdict::NoneExists));
    /// assert_eq!(Verdict::named("best"), None);
    /// ```
    pub fn named(name: &str) -> Option<Verdict> {
        let all = [
            Verdict::Optimal,
            Verdict::NoneExists,
            Verdict::Suboptimal,
            Verdict::Open,
        ];
        all.into_iter().find(|verdict| verdict.name() == name)
    }

    /// The verdict on another order of the same dag, where this one is on the best that was found: it reaches
    /// `profile`, and no order exceeds `bound`.
    ///
    /// ```
    /// use cairn_theory::Verdict;
    /// assert_eq!(Verdict::Open.judge(&[1, 2, 0], &[1, 2, 0]), Verdict::Optimal);
    /// assert_eq!(Verdict::Optimal.judge(&[1, 1, 0], &[1, 2, 0]), Verdict::Suboptimal);
    /// assert_eq!(Verdict::Open.judge(&[1, 1, 0], &[1, 2, 0]), Verdict::Open);
    /// ```
    pub fn judge(self, profile: &[u32], bound: &[u32]) -> Verdict {
        match self {
            _ if profile == bound => Verdict::Optimal,
            Verdict::Optimal => Verdict::Suboptimal,
            other => other,
        }
    }
}
