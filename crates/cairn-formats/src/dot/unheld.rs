//! What a DOT file says that a flow does not hold: how to draw it. Knows tokens, and just enough grammar to tell whose
//! an attribute is.

use super::attributes::is_held;
use super::lexer::{Lexer, Token};
use crate::Source;
use crate::loss::Tally;
use crate::unheld::at_byte;

/// Counts attributes that are not kept, by whose they are; subgraphs, the graph's name, comments.
pub(crate) fn unheld(source: &Source, tally: &mut Tally) {
    let place = |at: usize| at_byte(source, at);
    let mut lexer = Lexer::new(source.text());
    // The braces that are open, whether we are inside brackets, and the statement at hand: its first word, whether it
    // has an arrow.
    let (mut braces, mut in_list, mut first, mut has_arrow) = (0, false, String::new(), false);
    let mut before = Token::End;
    let mut labelled = false;
    let mut key: Option<(String, usize)> = None;
    while let Ok((token, at)) = lexer.next() {
        match &token {
            Token::End => break,
            Token::Mark(b'{') => braces += 1,
            Token::Mark(b'}') => braces -= 1,
            Token::Mark(b'[') => {
                in_list = true;
                labelled = has_label(&source.text()[lexer.end()..]);
            }
            Token::Mark(b']') => in_list = false,
            Token::Arrow => has_arrow = true,
            Token::Word(_) | Token::Quoted(_) if in_list => {
                let name = text_of(&token);
                let whose = match () {
                    () if before == Token::Mark(b'=') => None,
                    () if has_arrow => Some("edges"),
                    () => match &first.to_ascii_lowercase()[..] {
                        "node" => Some("all nodes"),
                        "edge" => Some("all edges"),
                        "graph" => Some("graphs"),
                        _ if is_held(&name) => None,
                        // It stands in for a label that is not there.
                        _ if name == "xlabel" && !labelled => None,
                        _ => Some("nodes"),
                    },
                };
                if let Some(whose) = whose {
                    let what = format!("attribute {name} of {whose}");
                    tally.add(&what, "field", || place(at));
                }
            }
            Token::Word(_) | Token::Quoted(_) => {
                let name = text_of(&token);
                let is_word =
                    |k| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(k));
                if braces == 0 {
                    if !["strict", "digraph", "graph"].into_iter().any(is_word) {
                        tally.add("name of the graph", "field", || place(at));
                    }
                } else if before == Token::Mark(b'=') {
                    if let Some((name, at)) = key.take() {
                        let what = format!("attribute {name} of graphs");
                        tally.add(&what, "field", || place(at));
                    }
                } else if !matches!(before, Token::Arrow | Token::Mark(b':')) {
                    has_arrow = false;
                    if is_word("subgraph") {
                        tally.add("subgraphs", "field", || place(at));
                    }
                    first = match token {
                        Token::Word(word) => word.to_owned(),
                        _ => String::new(),
                    };
                } else if before == Token::Mark(b':') {
                    tally.add("ports", "field", || place(at));
                }
                key = Some((name, at));
            }
            _ => {}
        }
        // The first graph alone is read: what follows is warned of by the reader.
        if braces <= 0 && token == Token::Mark(b'}') {
            break;
        }
        before = token;
    }
    comments(source, tally);
}

/// Whether the list that goes on so gives a label with something in it.
fn has_label(rest: &str) -> bool {
    let mut lexer = Lexer::new(rest);
    let (mut key, mut before) = (false, false);
    while let Ok((token, _)) = lexer.next() {
        match token {
            Token::End | Token::Mark(b']') => return false,
            Token::Mark(b'=') => before = key,
            Token::Word(_) | Token::Quoted(_) => {
                let text = text_of(&token);
                if before && !text.trim().is_empty() {
                    return true;
                }
                (key, before) = (text == "label", false);
            }
            _ => {}
        }
    }
    false
}

fn text_of(token: &Token<'_>) -> String {
    match token {
        Token::Word(word) => (*word).to_owned(),
        Token::Quoted(text) => text.to_string(),
        _ => String::new(),
    }
}

/// Lines that begin as a comment does.
fn comments(source: &Source, tally: &mut Tally) {
    for (number, line) in (1u32..).zip(source.text().lines()) {
        let line = line.trim_start();
        if ["//", "/*", "#"].iter().any(|sign| line.starts_with(sign)) {
            tally.add("comments", "line", || crate::unheld::at(source, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_an_attribute_is() {
        let text = "strict digraph \"my graph\" {\n  rankdir=LR; graph [fontsize=9]\n  node [shape=box]\n  // why\n\
            a [seconds=2, color=red, label=\"x\", xlabel=y] b:n -> c [style=dotted, color=red]\n  d [color=blue, label=\"\", xlabel=z] subgraph x { e }\n}\n";
        let mut tally = Tally::default();
        unheld(&Source::from_text("g.dot", text), &mut tally);
        let said: Vec<String> = tally.done().iter().map(|l| l.to_string()).collect();
        assert_eq!(
            said,
            [
                "name of the graph (1 field), g.dot:1",
                "attribute rankdir of graphs (1 field), g.dot:2",
                "attribute fontsize of graphs (1 field), g.dot:2",
                "attribute shape of all nodes (1 field), g.dot:3",
                "attribute color of nodes (2 fields), first: g.dot:5",
                "attribute xlabel of nodes (1 field), g.dot:5",
                "ports (1 field), g.dot:5",
                "attribute style of edges (1 field), g.dot:5",
                "attribute color of edges (1 field), g.dot:5",
                "subgraphs (1 field), g.dot:6",
                "comments (1 line), g.dot:4",
            ]
        );
    }
}
