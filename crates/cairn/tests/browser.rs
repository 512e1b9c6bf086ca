//! The page of `cairn show` in a real browser: its script runs, finds tasks and draws nothing from outside.

mod common;

use common::cairn;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A browser, if there is one.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&folders)
        .flat_map(|folder| ["chromium", "chromium-browser"].map(|name| folder.join(name)));
    found.find(|path| path.is_file())
}

/// The page as it stands after its script has run, opened with a search.
fn opened(browser: &Path, page: &Path, search: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}#{search}", page.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_page_finds_tasks_by_name() {
    let Some(browser) = browser() else {
        let why = "SKIPPED: no chromium to open the page of `cairn show` in";
        writeln!(std::io::stderr(), "{why}").unwrap();
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [file, page] = ["x.dag", "x.html"].map(|name| folder.path().join(name));
    let made = cairn(&["gen", "airsn", "60", "-o", file.to_str().unwrap()]);
    assert_eq!(made.code, 0, "{made:?}");
    let run = cairn(&["show", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let html = opened(&browser, &page, "t20");
    // t20 alone, the end of the handle; t200, t201 and t202 of 203 tasks.
    assert!(html.contains("<output>4 tasks, "), "the search has run");
    assert!(html.contains("class=\"node hit\""), "boxes are marked");
    assert!(html.contains("searching"), "others are dimmed");
    assert!(
        html.contains(">t20 (number "),
        "tasks are listed with their place"
    );
    assert!(!html.contains("<title>t"), "tips are the page's own");
    let nothing = opened(&browser, &page, "no such task");
    assert!(nothing.contains("<output>0 tasks, 0 boxes"));
}
