//! The table of statements in the docs names only tests that exist.

use std::path::Path;

#[test]
fn every_test_named_in_the_docs_exists() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(here.join("../../docs/theory.md")).unwrap();
    let mut named = 0;
    for word in docs.split('`') {
        let Some((file, test)) = word
            .split_once("::")
            .filter(|(file, _)| file.ends_with(".rs"))
        else {
            continue;
        };
        let source = std::fs::read_to_string(here.join(file)).expect(file);
        assert!(
            source.contains(&format!("fn {test}(")),
            "{file} has no test {test}"
        );
        named += 1;
    }
    assert!(named > 40, "only {named} tests are named");
}
