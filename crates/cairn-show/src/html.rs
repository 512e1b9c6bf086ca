//! One HTML file that stands alone: figures with hover, zoom and search, captions, tables. Knows no file and asks the network for
//! nothing.

use crate::Figure;
use crate::text::{clean, escape, escape_into};
use std::fmt::Write;

/// A figure with the text below it.
#[derive(Clone, Copy, Debug)]
pub struct Captioned<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// What to see in it; may be empty.
    pub caption: &'a str,
}

/// A table. Cells that read as numbers are set flush right.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// What it shows.
    pub caption: &'a str,
    /// Column titles.
    pub header: &'a [&'a str],
    /// Rows of cells; short ones are filled up with empty cells, cells beyond the header are kept.
    pub rows: &'a [Vec<String>],
}

/// A page. All text is the caller's plain text and is escaped here.
///
/// The page reads well without script; with it, hovering or the arrow keys tell the values of each part, dags can be
/// zoomed, moved and searched by name, and other wide figures can be fitted to the window. Colours follow the reader's light or dark setting.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_show::{Captioned, DagDrawing, Page};
/// let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
/// let figure = DagDrawing::new("two tasks", &dag).draw()?;
/// let page = Page {
///     title: "<my> plan",
///     lead: "",
///     tables: &[],
///     figures: &[Captioned { figure: &figure, caption: "one after the other" }],
///     footer: "",
/// };
/// assert!(page.html().contains("&lt;my&gt; plan"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Title of the page and of its window.
    pub title: &'a str,
    /// First paragraph; may be empty.
    pub lead: &'a str,
    /// Tables, shown behind the first figure.
    pub tables: &'a [Table<'a>],
    /// Figures, from top to bottom.
    pub figures: &'a [Captioned<'a>],
    /// Last paragraph: which command made the page; may be empty.
    pub footer: &'a str,
}

/// Figures up to this width shrink with the window; wider ones scroll, with a button to fit them.
// Chosen by eye: the page itself is at most 76 rem wide, and text of figures that shrink further is too small.
const FITTED: f64 = 1000.0;

impl Page<'_> {
    /// The page as HTML text.
    pub fn html(&self) -> String {
        let size: usize = self
            .figures
            .iter()
            .map(|f| f.figure.svg().len() + 400)
            .sum();
        let mut out = String::with_capacity(size + 16_384);
        let title = escape(&clean(self.title));
        // The policy forbids every outside resource: the browser itself sees to it that the file stands alone.
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
            include_str!("page.css")
        );
        if !self.lead.is_empty() {
            push_lead(&mut out, self.lead);
        }
        let (first, others) = self.figures.split_at(self.figures.len().min(1));
        for captioned in first {
            push_figure(&mut out, captioned);
        }
        for table in self.tables {
            push_table(&mut out, table);
        }
        for captioned in others {
            push_figure(&mut out, captioned);
        }
        if !self.footer.is_empty() {
            let _ = writeln!(out, "<footer><p>{}</p></footer>", escape(self.footer));
        }
        let _ = write!(
            out,
            "</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{}</script>\n</body>\n</html>\n",
            include_str!("page.js")
        );
        out
    }
}

/// The lead, folded away where it is long: the page is to open on its first figure.
fn push_lead(out: &mut String, lead: &str) {
    // Some three lines, by eye.
    const LONGEST: usize = 300;
    let _ = match lead.char_indices().nth(LONGEST) {
        None => writeln!(out, "<p class=\"lead\">{}</p>", escape(lead)),
        Some((end, _)) => writeln!(
            out,
            "<details class=\"lead\"><summary>{}…</summary><p>{}</p></details>",
            escape(&lead[..end]),
            escape(lead)
        ),
    };
}

/// The names that can be looked for, and the tools to do so. The names are text of a template: nothing is drawn of it.
fn push_index(out: &mut String, figure: &Figure) {
    out.push_str(
        "<div class=\"tools\" hidden><label>find <input type=\"search\" placeholder=\"name of a task or kind of job\"></label>\n\
         <button type=\"button\" data-zoom=\"in\" aria-label=\"zoom in\">+</button>\n\
         <button type=\"button\" data-zoom=\"out\" aria-label=\"zoom out\">−</button>\n\
         <button type=\"button\" data-zoom=\"fit\">whole picture</button>\n\
         <output></output><span class=\"keys\">wheel or + − 0 to zoom, drag to move, arrow keys to read, / to find</span></div>\n",
    );
    let ordered = if figure.index_is_order() {
        " data-ordered"
    } else {
        ""
    };
    let _ = write!(out, "<template{ordered}>");
    let mut last = None;
    for (node, name) in figure.index() {
        if last != Some(node) {
            let _ = write!(out, "{node}");
            last = Some(node);
        }
        out.push(' ');
        escape_into(out, &name.replace('\n', " "));
        out.push('\n');
    }
    out.push_str("</template>\n");
}

fn push_table(out: &mut String, table: &Table<'_>) {
    let columns = table
        .rows
        .iter()
        .map(Vec::len)
        .max()
        .unwrap_or(0)
        .max(table.header.len());
    let numeric: Vec<bool> = (0..columns)
        .map(|c| {
            let mut cells = table
                .rows
                .iter()
                .filter_map(|row| row.get(c))
                .filter(|cell| !cell.is_empty())
                .peekable();
            cells.peek().is_some() && cells.all(|cell| is_number(cell))
        })
        .collect();
    let class = |c: usize| if numeric[c] { " class=\"number\"" } else { "" };
    let _ = write!(
        out,
        "<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>",
        escape(table.caption)
    );
    for c in 0..columns {
        let name = table.header.get(c).copied().unwrap_or("");
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(c), escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows {
        out.push_str("<tr>");
        for c in 0..columns {
            let cell = escape(row.get(c).map_or("", String::as_str));
            let _ = if c == 0 {
                write!(out, "<th scope=\"row\"{}>{cell}</th>", class(c))
            } else {
                write!(out, "<td{}>{cell}</td>", class(c))
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn is_number(cell: &str) -> bool {
    let digits = cell
        .trim()
        .trim_end_matches(['%', ' '])
        .replace([',', '−'], "");
    digits.parse::<f64>().is_ok()
}

fn push_figure(out: &mut String, captioned: &Captioned<'_>) {
    let fitted = captioned.figure.width() <= FITTED;
    out.push_str("<figure>\n");
    let found = !captioned.figure.index().is_empty();
    if found {
        push_index(out, captioned.figure);
    } else if !fitted {
        out.push_str("<button type=\"button\" data-fit aria-pressed=\"false\" hidden>fit to width</button>\n");
    }
    let _ = write!(
        out,
        "<div class=\"frame{}\">\n{}</div>\n",
        if fitted { " fit" } else { "" },
        captioned.figure.svg()
    );
    if found {
        out.push_str("<ol class=\"found\" hidden></ol>\n");
    }
    if !captioned.caption.is_empty() {
        let _ = writeln!(
            out,
            "<figcaption>{}</figcaption>",
            escape(captioned.caption)
        );
    }
    out.push_str("</figure>\n");
}
