//! The page of `cairn show` in a real browser: its script runs, finds tasks and draws nothing from outside.

mod common;

use common::{browser, cairn};
use std::path::Path;
use std::process::Command;

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
    let Some(browser) = browser("cairn show") else {
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

/// What a script says of the page after it has done something to it.
fn done(browser: &Path, page: &Path, script: &str) -> String {
    let driven = page.with_extension("driven.html");
    let html = std::fs::read_to_string(page).unwrap();
    let script = format!(
        "<script>const svg = document.querySelector('.map svg'); const say = []; const at = () => say.push(svg.getAttribute('viewBox')); \
         const key = (key) => svg.dispatchEvent(new KeyboardEvent('keydown', {{ key, bubbles: true }})); \
         {script}; document.title = 'said ' + say.join(';') + '|';</script></body>"
    );
    std::fs::write(&driven, html.replacen("</body>", &script, 1)).unwrap();
    let html = opened(browser, &driven, "");
    let (_, said) = html.split_once("<title>said ").expect("the script has run");
    said.split_once('|').unwrap().0.to_owned()
}

/// The numbers of viewBoxes.
fn views(said: &str) -> Vec<[f64; 4]> {
    let numbers = |view: &str| {
        let all: Vec<f64> = view.split(' ').map(|n| n.parse().unwrap()).collect();
        <[f64; 4]>::try_from(all).unwrap()
    };
    said.split(';').map(numbers).collect()
}

#[test]
fn a_picture_too_tall_to_read_opens_at_its_top_and_keys_wheel_and_drags_move_it() {
    let Some(browser) = browser("cairn show") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [file, page] = ["x.dag", "x.html"].map(|name| folder.path().join(name));
    // A ladder: no chain, no kinds, one level for every two tasks.
    let mut dag = String::new();
    for i in 0..30 {
        dag += &format!("JOB left{i} x.sub\nJOB right{i} x.sub\n");
    }
    for i in 1..30 {
        let before = i - 1;
        dag += &format!("PARENT left{before} right{before} CHILD left{i} right{i}\n");
    }
    std::fs::write(&file, dag).unwrap();
    let run = cairn(&["show", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let said = done(
        &browser,
        &page,
        "const size = () => say.push('0 0 ' + svg.getScreenCTM().a + ' ' + svg.querySelector('[data-n]').getBoundingClientRect().top); \
         at(); size(); key('0'); at(); size(); key('+'); at(); key('-'); at(); \
         svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -200, clientX: 400, clientY: 300, bubbles: true, cancelable: true })); at(); \
         const move = (type, x, y) => svg.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true })); \
         svg.setPointerCapture = () => {}; move('pointerdown', 400, 300); move('pointermove', 430, 340); move('pointerup', 430, 340); at(); \
         move('pointermove', 500, 500); at(); \
         document.querySelector('[data-zoom=fit]').click(); at(); \
         key('End'); say.push('0 0 0 ' + (document.getElementById('tip').hidden ? 0 : 1))",
    );
    let [
        opened,
        scale,
        whole,
        small,
        nearer,
        back,
        wheeled,
        dragged,
        dropped,
        fitted,
        tip,
    ] = views(&said)[..]
    else {
        panic!("{said}");
    };
    assert!(scale[2] >= 0.79, "opens too small to read: {said}");
    assert!(scale[3] > 0.0, "the first task is not seen: {said}");
    assert!(
        small[2] < 0.7,
        "the whole picture would be readable: {said}"
    );
    assert!(
        opened[2] < whole[2] && whole[0] == 0.0 && whole[1] == 0.0,
        "{said}"
    );
    assert!((nearer[2] * 1.4 - whole[2]).abs() < 0.01, "{said}");
    assert!((back[2] - whole[2]).abs() < 0.01, "{said}");
    assert!(wheeled[2] < back[2], "{said}");
    assert!(dragged[0] < wheeled[0] && dragged[1] < wheeled[1], "{said}");
    assert_eq!(dragged[2], wheeled[2], "{said}");
    assert_eq!(dropped, dragged, "still dragged: {said}");
    assert_eq!(fitted, whole, "{said}");
    assert_eq!(tip[3], 1.0, "the last task is read out: {said}");
}
