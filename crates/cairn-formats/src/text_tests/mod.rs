//! Tests over all line-based formats: the corpus, mutated inputs, and what they share.

mod corpus;
mod fuzz;
pub(crate) mod support;
