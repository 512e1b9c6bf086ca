//! Reads DOT: the grammar, with an explicit stack instead of recursion. Knows nothing of characters.

use super::label;
use super::lexer::{Lexer, Token, Wrong, wrong};
use super::spots::Sites;
use crate::draft::{Draft, mark_at};
use crate::{Report, Source};
use cairn_dag::{Flow, Symbol};
use std::borrow::Cow;
use std::collections::HashMap;

/// Arcs that subgraphs may multiply to, in all.
// 33 million: 5,800 nodes on either side of one arrow. Who has that many means a node between them.
const MOST_PRODUCTS: usize = 1 << 25;

/// Reads the first graph of the source, which must be directed.
///
/// Time and space linear in the text, but for `{a b} -> {c d}`, which makes every pair an arc, up to a limit.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    read_with_sites(source, report, None)
}

/// Reads, and notes where nodes and their priorities stand when `sites` is given.
pub(super) fn read_with_sites<'r>(
    source: &Source,
    report: &'r mut Report,
    sites: Option<&'r mut Sites>,
) -> Option<Flow> {
    let mut parser = Parser {
        lexer: Lexer::new(source.text()),
        draft: Draft::new(source, report),
        sites,
        node_end: 0,
        peeked: None,
        frames: Vec::new(),
        members: Vec::new(),
        subgraphs: HashMap::new(),
        products: 0,
        blank: HashMap::new(),
    };
    if let Err(wrong) = parser.graph() {
        let place = |source: &Source| source.place_at(wrong.at);
        parser.draft.unreadable(place, wrong.message, wrong.help);
    }
    // At the end, when all edges are known. In any order, for each sets its own label.
    for (node, Blank { leaving, entering }) in std::mem::take(&mut parser.blank) {
        if let Some(edge) = leaving.or(entering) {
            let label = label::text(edge, "", false);
            parser.draft.build.set_label(node, &label);
        }
    }
    parser.draft.finish()
}

pub(super) struct Parser<'s, 'r> {
    pub(super) lexer: Lexer<'s>,
    pub(super) draft: Draft<'s, 'r>,
    pub(super) sites: Option<&'r mut Sites>,
    /// Where the last node, with its port, ended.
    node_end: usize,
    pub(super) peeked: Option<(Token<'s>, usize)>,
    /// The open braces: the graph itself and the subgraphs inside each other.
    frames: Vec<Frame<'s>>,
    /// Nodes as they are met inside subgraphs, so that each subgraph is a range of this list.
    members: Vec<Symbol>,
    subgraphs: HashMap<Cow<'s, str>, Vec<Range>>,
    products: usize,
    /// Nodes whose label is given and empty, as Nextflow's channels are.
    pub(super) blank: HashMap<Symbol, Blank<'s>>,
}

/// A node without text: the label of the first edge that leaves it, and of the first that enters it.
#[derive(Default)]
pub(super) struct Blank<'s> {
    pub(super) leaving: Option<&'s str>,
    pub(super) entering: Option<&'s str>,
}

/// An open brace.
pub(super) struct Frame<'s> {
    name: Option<Cow<'s, str>>,
    /// Where its members begin.
    start: usize,
    /// The end of an edge that was met already, when its statement goes on with `->`.
    left: Option<End>,
    /// Whether an endpoint must follow.
    after_arrow: bool,
    /// Whether nodes are records here, unless they say otherwise.
    pub(super) records: bool,
}

type Range = (usize, usize);

/// One end of an edge.
enum End {
    Node(Symbol),
    /// All members of a subgraph.
    Members(Vec<Range>),
}

pub(super) type Step = Result<(), Wrong>;

/// A slip for which there is nothing more to say.
fn slip<T>(at: usize, message: impl Into<String>) -> Result<T, Wrong> {
    wrong(at, message, "correct the DOT here")
}

/// Whether `word` is `keyword`, in any case.
pub(super) fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

impl<'s> Parser<'s, '_> {
    fn next(&mut self) -> Result<(Token<'s>, usize), Wrong> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.lexer.next(),
        }
    }

    pub(super) fn peek(&mut self) -> Result<&Token<'s>, Wrong> {
        if self.peeked.is_none() {
            self.peeked = Some(self.lexer.next()?);
        }
        Ok(&self.peeked.as_ref().expect("just filled").0)
    }

    /// Takes the next token if it is `mark`.
    pub(super) fn take(&mut self, mark: u8) -> Result<bool, Wrong> {
        let found = *self.peek()? == Token::Mark(mark);
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    pub(super) fn id(&mut self, what: &str) -> Result<Cow<'s, str>, Wrong> {
        match self.next()? {
            (Token::Word(word), _) => Ok(Cow::Borrowed(word)),
            (Token::Quoted(text), _) => Ok(text),
            (_, at) => slip(at, format!("expected {what} here")),
        }
    }

    /// `[strict] digraph [ID] { … }`
    fn graph(&mut self) -> Step {
        let (mut token, mut at) = self.next()?;
        if matches!(token, Token::Word(word) if is(word, "strict")) {
            (token, at) = self.next()?;
        }
        match token {
            Token::Word(word) if is(word, "digraph") => {}
            Token::Word(word) if is(word, "graph") => {
                return wrong(
                    at,
                    "this graph is undirected, so it does not say which task comes first",
                    "write 'digraph' for 'graph' and '->' for '--'",
                );
            }
            _ => {
                return wrong(
                    at,
                    "expected 'digraph' here",
                    "if a program wrote messages in front of the graph, delete those lines",
                );
            }
        }
        if !matches!(self.peek()?, Token::Mark(_)) {
            self.id("the graph's name or {")?;
        }
        let (token, at) = self.next()?;
        if token != Token::Mark(b'{') {
            return wrong(at, "expected { here", "the body of a graph is in braces");
        }
        self.open(None);
        // No recursion: a text of a million braces must not end the stack.
        while !self.frames.is_empty() {
            self.statement()?;
        }
        match self.lexer.next() {
            Ok((Token::End, _)) => {}
            Ok((_, at)) | Err(Wrong { at, .. }) => self.draft.warning(
                mark_at(at),
                "what follows the end of the graph is ignored",
                "put each graph into a file of its own",
            ),
        }
        Ok(())
    }

    fn open(&mut self, name: Option<Cow<'s, str>>) {
        // Subgraphs inside each other are ranges of one list: what the inner one names the outer one has, too.
        let start = self.members.len();
        let records = self.frames.last().is_some_and(|frame| frame.records);
        self.frames.push(Frame {
            name,
            start,
            left: None,
            after_arrow: false,
            records,
        });
    }

    pub(super) fn frame(&mut self) -> &mut Frame<'s> {
        self.frames.last_mut().expect("inside the graph")
    }

    /// One statement, or the next part of one.
    fn statement(&mut self) -> Step {
        let (token, at) = self.next()?;
        let after_arrow = std::mem::take(&mut self.frame().after_arrow);
        match token {
            Token::Mark(b'{') => {
                self.open(None);
                Ok(())
            }
            Token::Word(word) if is(word, "subgraph") => self.subgraph(),
            Token::Word(word) if ["node", "edge", "graph"].iter().any(|k| is(word, k)) => {
                if after_arrow {
                    return slip(at, "expected a node here");
                }
                self.defaults(word)
            }
            Token::Word(word) => self.node(Cow::Borrowed(word), at, after_arrow),
            Token::Quoted(text) => self.node(text, at, after_arrow),
            _ if after_arrow => slip(at, "expected a node or a subgraph after ->"),
            Token::Mark(b'}') => {
                let end_before = self.lexer.end_before();
                if let Some(sites) = &mut self.sites {
                    sites.close(end_before, at);
                }
                self.close()
            }
            // Both are optional in DOT, and may stand alone.
            Token::Mark(b';' | b',') => Ok(()),
            Token::Line => wrong(
                at,
                "-- joins nodes of undirected graphs",
                "write -> to say which task comes first",
            ),
            Token::End => wrong(
                at,
                "the text ends inside the graph",
                "close it with }; the file may be cut off",
            ),
            Token::Arrow => slip(at, "there is no node in front of this ->"),
            Token::Mark(mark) => slip(at, format!("unexpected {}", char::from(mark))),
        }
    }

    /// After the word `subgraph`: a name, a body, or both. A name alone means the subgraph of that name.
    fn subgraph(&mut self) -> Step {
        let name = match self.peek()? {
            Token::Word(_) | Token::Quoted(_) => Some(self.id("a name")?),
            _ => None,
        };
        if self.take(b'{')? {
            self.open(name);
            return Ok(());
        }
        let Some(name) = name else {
            let (_, at) = self.next()?;
            return slip(at, "expected { after 'subgraph'");
        };
        let ranges = self.subgraphs.get(&name).cloned().unwrap_or_default();
        // A subgraph that is named again and again inside others doubles each time: its members are paid for.
        self.spend(ranges.iter().map(|(start, end)| end - start).sum())?;
        if self.frames.len() > 1 {
            for &(start, end) in &ranges {
                self.members.extend_from_within(start..end);
            }
        }
        self.endpoint(End::Members(ranges))
    }

    /// A closing brace. What it closes is an end of an edge, perhaps.
    fn close(&mut self) -> Step {
        let frame = self.frames.pop().expect("inside the graph");
        if self.frames.is_empty() {
            return Ok(());
        }
        let range = (frame.start, self.members.len());
        if let Some(name) = frame.name {
            self.subgraphs.entry(name).or_default().push(range);
        }
        self.endpoint(End::Members(vec![range]))
    }

    /// `ID = ID`, or a node, perhaps with a port.
    fn node(&mut self, name: Cow<'s, str>, at: usize, after_arrow: bool) -> Step {
        let name_end = self.lexer.end();
        self.node_end = name_end;
        if !after_arrow && self.take(b'=')? {
            self.id("a value")?;
            return Ok(());
        }
        // A port and a compass point.
        // At the most `node:port:compass`; a third colon is a slip.
        for _ in 0..2 {
            if self.take(b':')? {
                self.id("a port")?;
                self.node_end = self.lexer.end();
            }
        }
        // Mentioned means declared here: a node is there from its first mention on.
        let declared = match self.draft.build.lookup(&name) {
            Some(node) => Some(node),
            None => {
                let node = self.draft.declare(&name, mark_at(at));
                if let (Some(sites), Some(node)) = (&mut self.sites, node) {
                    sites.declare(node, at..name_end);
                }
                node
            }
        };
        let Some(node) = declared else {
            return Ok(()); // reported; only an empty name cannot be declared
        };
        if self.frames.len() > 1 {
            // Only inside subgraphs: nothing can name the members of the graph itself.
            self.members.push(node);
        }
        self.endpoint(End::Node(node))
    }

    /// An end of an edge has been read: joins it to what stood left of it, and looks whether the edge goes on.
    fn endpoint(&mut self, end: End) -> Step {
        // Taken whatever follows: an edge goes on only behind another arrow.
        let left = self.frame().left.take();
        if let Some(left) = &left {
            self.connect(left, &end)?;
        }
        match self.peek()? {
            Token::Arrow => {
                self.peeked = None;
                let frame = self.frame();
                frame.left = Some(end);
                frame.after_arrow = true;
            }
            Token::Mark(b'[') => match (left, end) {
                // Behind an edge the list is the edge's, not its last node's.
                (None, End::Node(node)) => self.node_attributes(node)?,
                (Some(End::Node(parent)), End::Node(child)) => {
                    self.edge_attributes(parent, child)?
                }
                _ => self.attributes(|_, _, _, _, _| {}).map(drop)?,
            },
            _ => {
                if let (Some(sites), None, End::Node(node)) = (&mut self.sites, left, end) {
                    sites.bare(node, self.node_end);
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self, left: &End, right: &End) -> Step {
        // At the end on the right: what follows may stand in another line.
        let at = self.node_end.saturating_sub(1);
        if let (End::Node(parent), End::Node(child)) = (left, right) {
            self.draft.arc(*parent, *child, mark_at(at));
            return Ok(());
        }
        let (parents, children) = (self.members_of(left)?, self.members_of(right)?);
        self.spend(parents.len().saturating_mul(children.len()))?;
        for &parent in &parents {
            for &child in &children {
                self.draft.arc(parent, child, mark_at(at));
            }
        }
        Ok(())
    }

    /// The distinct nodes of an end.
    fn members_of(&mut self, end: &End) -> Result<Vec<Symbol>, Wrong> {
        let mut nodes = Vec::new();
        match end {
            End::Node(node) => nodes.push(*node),
            End::Members(ranges) => {
                for &(start, end) in ranges {
                    // Paid for whenever they are gone over: a thousand edges from one large subgraph cost as much as
                    // they write.
                    self.spend(end - start)?;
                    nodes.extend_from_slice(&self.members[start..end]);
                }
            }
        }
        // A node that several parts of a subgraph name is one end, not several.
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Counts work that subgraphs multiply.
    fn spend(&mut self, work: usize) -> Step {
        self.products = self.products.saturating_add(work);
        if self.products <= MOST_PRODUCTS {
            return Ok(());
        }
        wrong(
            self.peeked_at(),
            format!("edges between subgraphs make more than {MOST_PRODUCTS} arcs"),
            "put one joining node between the groups: {a b} -> join -> {c d}",
        )
    }

    pub(super) fn peeked_at(&self) -> usize {
        // Beyond the text where nothing was looked at: the place is the file itself then.
        self.peeked.as_ref().map_or(usize::MAX, |(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self as support, first_problem};

    fn read_text(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "f.dot", text)
    }

    /// Names in order, and arcs as "a>b", sorted.
    fn shape(text: &str) -> (String, String) {
        let (flow, report) = read_text(text);
        let flow = flow.unwrap_or_else(|| panic!("{text}: {:?}", report.problems()));
        let names: Vec<&str> = flow.dag().tasks().map(|t| flow.name(t)).collect();
        let arc = |(p, c)| format!("{}>{}", flow.name(p), flow.name(c));
        let mut arcs: Vec<String> = flow.dag().arcs().map(arc).collect();
        arcs.sort();
        (names.join(" "), arcs.join(" "))
    }

    #[test]
    fn nodes_edges_and_subgraphs() {
        for (text, names, arcs) in [
            ("digraph{}", "", ""),
            ("strict DiGraph \"x y\" { a; b; a -> b }", "a b", "a>b"),
            (
                "digraph { a -> b -> c; a -> b [label=\"x\"] }",
                "a b c",
                "a>b b>c",
            ),
            ("digraph { a:out:n -> b:in -> c:sw }", "a b c", "a>b b>c"),
            ("digraph { {a b} -> {c; d} }", "a b c d", "a>c a>d b>c b>d"),
            ("digraph { a -> {b c} -> d }", "a b c d", "a>b a>c b>d c>d"),
            (
                "digraph { a -> subgraph s { b -> c } -> d [x=y] }",
                "a b c d",
                "a>b a>c b>c b>d c>d",
            ),
            (
                "digraph { subgraph s {a b} subgraph s {c} subgraph s -> d }",
                "a b c d",
                "a>d b>d c>d",
            ),
            (
                "digraph { subgraph s {a} { subgraph s b } -> c }",
                "a b c",
                "a>c b>c",
            ),
            ("digraph { subgraph {{a} {{b}}} -> c }", "a b c", "a>c b>c"),
            ("digraph { {} -> a -> {} }", "a", ""),
            (
                "digraph { rankdir=LR node[shape=box] edge [a=b][c=d;] graph[x] a->b\nb->c }",
                "a b c",
                "a>b b>c",
            ),
            ("digraph { node -> b }", "", ""),
            (
                "digraph { a -> { node [x=1] b; x = y; c } }",
                "a b c",
                "a>b a>c",
            ),
            ("digraph { 1 -> -2 -> .5 }", "1 -2 .5", "-2>.5 1>-2"),
            (
                "digraph { \"a\" + \"b\" -> <<i>c</i>> }",
                "ab <<i>c</i>>",
                "ab><<i>c</i>>",
            ),
            ("digraph { \"node\" -> \"->\" }", "node ->", "node>->"),
            ("digraph { a -> b, c -> d }", "a b c d", "a>b c>d"),
        ] {
            if text.contains("{ node ->") {
                assert!(read_text(text).0.is_none(), "{text}");
                continue;
            }
            assert_eq!(shape(text), (names.to_owned(), arcs.to_owned()), "{text}");
            let crlf = text.replace(' ', "\r\n");
            if !text.contains("\"x y\"") {
                assert_eq!(shape(&crlf), (names.to_owned(), arcs.to_owned()), "{crlf}");
            }
        }
    }

    #[test]
    fn errors_point_at_the_place_and_offer_a_cure() {
        for (text, line, message) in [
            ("graph { a -- b }", 1, "undirected"),
            ("digraph {\n a -- b }", 2, "-- joins"),
            (
                "Building DAG of jobs...\ndigraph { a }",
                1,
                "expected 'digraph'",
            ),
            ("digraph {\n a -> \n}", 3, "after ->"),
            ("digraph { -> a }", 1, "no node in front"),
            ("digraph { a ->", 1, "after ->"),
            ("digraph { a", 1, "ends inside"),
            ("digraph { {{{ a }}", 1, "ends inside"),
            ("digraph x a", 1, "expected {"),
            ("digraph { a [b=] }", 1, "expected a value"),
            ("digraph { a [b", 1, "expected an attribute or ]"),
            ("digraph { a = }", 1, "expected a value"),
            ("digraph { subgraph -> a }", 1, "expected { after"),
            ("digraph { a\n?\n}", 2, "unexpected character '?'"),
            ("digraph { \"\" -> a }", 1, "empty name"),
            ("digraph { a -> a }", 1, "depends on itself"),
            ("digraph { a -> b -> c -> a }", 1, "in a cycle"),
            ("digraph { ] }", 1, "unexpected ]"),
        ] {
            let (_, report) = read_text(text);
            let problem = first_problem(&report, text, message);
            assert_eq!(problem.place.line, line, "{text}: {}", problem.place);
        }
        let (flow, report) = read_text("digraph { a } digraph { b }");
        assert_eq!(flow.unwrap().dag().len(), 1);
        assert!(report.problems()[0].message.contains("is ignored"));
    }

    #[test]
    fn hostile_subgraphs_need_no_stack_and_little_memory() {
        let depth = 300_000;
        let deep = format!(
            "digraph {{ {} a {} }}",
            "{".repeat(depth),
            "}".repeat(depth)
        );
        assert_eq!(shape(&deep).0, "a");
        let named = format!(
            "digraph {{ {} a {} }}",
            "subgraph s{".repeat(depth),
            "}".repeat(depth)
        );
        assert_eq!(shape(&named).0, "a");
        let chain: String = (0..depth).map(|i| format!("x{i} -> {{")).collect();
        let chain = format!("digraph {{ {chain} a {} }}", "}".repeat(depth));
        assert!(
            read_text(&chain).0.is_none(),
            "each level multiplies all below it"
        );
        let many: Vec<String> = (0..10_000).map(|i| format!("a{i}")).collect();
        let many = many.join(" ");
        let product = format!("digraph {{ {{{many}}} -> {{{}}} }}", many.replace('a', "b"));
        let (flow, report) = read_text(&product);
        assert!(flow.is_none());
        assert!(report.problems()[0].message.contains("make more than"));
        let again = format!(
            "digraph {{ subgraph s {{{many}}} {{ {} }} }}",
            "subgraph s ".repeat(10_000)
        );
        assert!(read_text(&again).0.is_none());
    }
}
