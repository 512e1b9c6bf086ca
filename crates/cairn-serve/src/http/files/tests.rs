//! Tests of uploads and of what becomes of them.

use super::*;
use crate::http::types::Made;
use std::time::Duration;

const TRUSTED: Who = Who::Trusted;

pub(super) fn opened() -> (tempfile::TempDir, Arc<Files>) {
    let top = tempfile::tempdir().unwrap();
    let flow = top.path().join("flow");
    std::fs::create_dir(&flow).unwrap();
    let files = Files::open(&top.path().join("files"), &flow, Allowed::default()).unwrap();
    (top, Arc::new(files))
}

/// Uploads this; its digest.
pub(super) fn put(files: &Arc<Files>, who: Who, text: &[u8]) -> String {
    let digest = digest_of(&mut &text[..]).unwrap();
    let mut upload = files.upload(who, &digest, 0, text.len() as u64).unwrap();
    upload.write(text).unwrap();
    assert!(upload.finish().unwrap().complete);
    digest
}

fn made(path: &str, digest: &str) -> Made {
    Made {
        path: path.into(),
        digest: digest.into(),
        executable: false,
    }
}

#[test]
fn an_upload_goes_on_where_it_was_cut_and_must_have_its_digest() {
    let (top, files) = opened();
    let flow = top.path().join("flow");
    let text = b"hello, workers";
    let digest = digest_of(&mut &text[..]).unwrap();
    assert!(
        is_digest(&digest) && !is_digest("../../etc/passwd") && !is_digest(&digest.to_uppercase())
    );
    let begin = |offset| files.upload(TRUSTED, &digest, offset, 14);
    let mut upload = begin(0).unwrap();
    upload.write(&text[..5]).unwrap();
    assert!(matches!(begin(5), Err(NotTaken::Busy)));
    drop(upload);
    assert_eq!(files.stored(TRUSTED, &digest).bytes, 5);
    assert!(matches!(begin(3), Err(NotTaken::Offset(5))));
    let mut upload = begin(5).unwrap();
    upload.write(&text[5..]).unwrap();
    assert!(matches!(upload.write(b"!"), Err(NotTaken::Long)));
    assert!(upload.finish().unwrap().complete);
    assert!(files.stage(TRUSTED, &[made("../out", &digest)]).is_err());
    for staged in files.stage(TRUSTED, &[made("a/out", &digest)]).unwrap() {
        staged.place().unwrap();
    }
    assert_eq!(files.transit().bytes(), 0);
    assert_eq!(std::fs::read(flow.join("a/out")).unwrap(), text);
    let needed = files.needed("a/out").unwrap();
    assert_eq!(
        (needed.digest.as_str(), needed.bytes),
        (digest.as_str(), 14)
    );
    assert_eq!(files.read(&digest).unwrap().1, 14);
    std::fs::write(flow.join("a/out"), "changed").unwrap();
    assert!(files.read(&digest).is_err());
}

/// Whoever goes on with an upload while old ones are swept away finds it there, or hears that it is gone: nothing is counted that is
/// not there.
#[test]
fn what_somebody_goes_on_with_is_not_swept_away() {
    let (top, files) = opened();
    let folder = top.path().join("files");
    let text = b"two halves";
    let digest = digest_of(&mut &text[..]).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let in_halves = || -> std::result::Result<(), NotTaken> {
        let mut half = files.upload(TRUSTED, &digest, 0, 10)?;
        half.write(&text[..5])?;
        drop(half);
        let mut rest = match files.upload(TRUSTED, &digest, 5, 10) {
            Err(NotTaken::Offset(0)) => return Ok(()),
            rest => rest?,
        };
        rest.write(&text[5..])?;
        rest.finish().map(drop)
    };
    let all = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(order) {
                files.drop_older(Duration::ZERO, shelves(&folder));
            }
        });
        let all = (0..5_000).try_for_each(|_| in_halves());
        is_over.store(true, order);
        all
    });
    assert!(all.is_ok(), "{all:?}");
    files.drop_older(Duration::ZERO, shelves(&folder));
    assert_eq!(files.transit().bytes(), 0);
}

/// What is there is begun anew from 0 on, and what has not its digest goes.
#[test]
fn a_spoilt_upload_begins_anew() {
    let (_top, files) = opened();
    let text = b"abc";
    let digest = digest_of(&mut &text[..]).unwrap();
    let mut spoilt = files.upload(TRUSTED, &digest, 0, 100).unwrap();
    spoilt.write(b"garbage").unwrap();
    drop(spoilt);
    assert_eq!(files.transit().bytes(), 7);
    assert_eq!(put(&files, TRUSTED, text), digest);
    assert_eq!(files.transit().bytes(), 3);
    put(&files, TRUSTED, text);
    assert_eq!(files.transit().bytes(), 3, "it is there once");
    let other = "0".repeat(64);
    let mut upload = files.upload(TRUSTED, &other, 0, 3).unwrap();
    upload.write(text).unwrap();
    assert!(matches!(upload.finish(), Err(NotTaken::Digest)));
    assert_eq!(files.stored(TRUSTED, &other).bytes, 0);
}

/// Nobody else can spoil, take, remove or hold up what a client uploads.
#[test]
fn uploads_of_one_client_are_not_anothers() {
    let (top, files) = opened();
    let (one, two) = (Who::Volunteer(1), Who::Volunteer(2));
    let text = b"right";
    let digest = digest_of(&mut &text[..]).unwrap();
    let mut garbage = files.upload(one, &digest, 0, 5000).unwrap();
    garbage.write(&[7; 1000]).unwrap();
    for who in [two, TRUSTED] {
        assert_eq!(files.stored(who, &digest).bytes, 0);
        put(&files, who, text);
    }
    files.forget(one, &digest);
    assert!(files.stage(one, &[made("out", &digest)]).is_err());
    assert!(files.stored(two, &digest).complete && files.stored(TRUSTED, &digest).complete);
    drop(garbage);
    assert_eq!(files.stored(one, &digest).bytes, 1000);
    // A server that begins again counts them all.
    let counted = files.transit().bytes();
    assert_eq!(counted, 1010);
    let again = Files::open(
        &top.path().join("files"),
        &top.path().join("flow"),
        Allowed::default(),
    )
    .unwrap();
    assert_eq!(again.transit().bytes(), counted);
}

/// Nobody has to want room for old uploads to go.
#[test]
fn abandoned_uploads_go_with_time() {
    let (_top, files) = opened();
    for who in [Who::Volunteer(1), TRUSTED] {
        let digest = put(&files, who, b"whole");
        let other = "0".repeat(64);
        let mut half = files.upload(who, &other, 0, 100).unwrap();
        half.write(b"half").unwrap();
        files.drop_older(Duration::ZERO, shelves(&files.folder));
        assert!(!files.stored(who, &digest).complete);
        assert_eq!(files.stored(who, &other).bytes, 4, "somebody writes it");
        drop(half);
        files.drop_older(Duration::from_secs(60), shelves(&files.folder));
        assert_eq!(files.stored(who, &other).bytes, 4, "it is young");
        files.drop_older(Duration::ZERO, shelves(&files.folder));
        assert_eq!(files.stored(who, &other).bytes, 0);
    }
    assert_eq!(files.transit().bytes(), 0);
}

/// A task may make the same content twice: each of its files is one of its own.
#[test]
fn equal_outputs_are_staged_from_one_upload() {
    let (top, files) = opened();
    let flow = top.path().join("flow");
    for text in [&b""[..], b"same"] {
        let digest = put(&files, TRUSTED, text);
        let all = [made("a", &digest), made("b", &digest), made("c/c", &digest)];
        for staged in files.stage(TRUSTED, &all).unwrap() {
            staged.place().unwrap();
        }
        for path in ["a", "b", "c/c"] {
            assert_eq!(std::fs::read(flow.join(path)).unwrap(), text);
        }
        std::fs::write(flow.join("c/c"), "changed").unwrap();
        assert_eq!(std::fs::read(flow.join("a")).unwrap(), text);
        assert_eq!(files.transit().bytes(), 0);
    }
}

/// What does not take its place is an upload again: whoever returns it once more need not upload it.
#[test]
fn what_was_staged_in_vain_is_an_upload_again() {
    let (top, files) = opened();
    let digest = put(&files, TRUSTED, b"whole");
    let missing = "0".repeat(64);
    let half = [made("a", &digest), made("b", &missing)];
    let error = files.stage(TRUSTED, &half).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(files.stored(TRUSTED, &digest).complete);
    drop(files.stage(TRUSTED, &half[..1]).unwrap());
    assert!(files.stored(TRUSTED, &digest).complete);
    assert_eq!(files.transit().bytes(), 5);
    assert_eq!(
        std::fs::read_dir(top.path().join("flow")).unwrap().count(),
        0
    );
}

/// On another disk it is copied, and stays an upload until it is forgotten: a return that is repeated finds it.
#[test]
fn what_is_staged_on_another_disk_stays_uploaded() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let flow = tempfile::tempdir().unwrap();
    let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
    if device(other.path()) == device(flow.path()) {
        return;
    }
    let files = Arc::new(
        Files::open(&other.path().join("files"), flow.path(), Allowed::default()).unwrap(),
    );
    let digest = put(&files, TRUSTED, b"large");
    let all = [made("a", &digest), made("b", &digest)];
    drop(files.stage(TRUSTED, &all).unwrap());
    assert!(files.stored(TRUSTED, &digest).complete);
    for staged in files.stage(TRUSTED, &all).unwrap() {
        staged.place().unwrap();
    }
    assert_eq!(std::fs::read(flow.path().join("b")).unwrap(), b"large");
    assert_eq!(files.transit().bytes(), 5);
    files.forget(TRUSTED, &digest);
    assert_eq!(files.transit().bytes(), 0);
    // What lost its digest on the way is no upload any more: it must come again.
    let digest = put(&files, TRUSTED, b"right");
    std::fs::write(files.whole(TRUSTED, &digest), "wrong").unwrap();
    assert!(files.stage(TRUSTED, &[made("a", &digest)]).is_err());
    assert!(!files.stored(TRUSTED, &digest).complete);
}

/// A stranger must not fill the disk: neither with uploads nor with what waits, nor by being many.
#[test]
fn volunteers_have_no_more_here_than_they_may() {
    let top = tempfile::tempdir().unwrap();
    let flow = top.path().join("flow");
    std::fs::create_dir(&flow).unwrap();
    let allowed = Allowed {
        each: 100,
        all: 400,
        among: 10,
    };
    let open = || Arc::new(Files::open(&top.path().join("files"), &flow, allowed).unwrap());
    let files = open();
    let (anna, berta) = (Who::Volunteer(1), Who::Volunteer(2));
    let text = |letter: u8, long: usize| vec![letter; long];
    let begin = |files: &Arc<Files>, who, letter, long: usize| {
        let digest = digest_of(&mut &text(letter, long)[..]).unwrap();
        files.upload(who, &digest, 0, long as u64).map(drop)
    };
    let over = |refused: std::result::Result<(), NotTaken>| match refused {
        Err(NotTaken::Over(over)) => over,
        other => panic!("{other:?}"),
    };
    let kept = put(&files, anna, &text(b'a', 70));
    assert_eq!(over(begin(&files, anna, b'b', 31)), Over::Each(70));
    assert_eq!(over(begin(&files, anna, b'b', 101)), Over::Ever);
    begin(&files, anna, b'b', 30).unwrap();
    // What was let in and did not come counts no more.
    assert_eq!(files.allowance.used(), (vec![(1, 70)], 70));
    // Anna has 50 beyond her share of 20: of the 150 that are left of that half Berta may have 75, and her share.
    assert_eq!(over(begin(&files, berta, b'c', 96)), Over::All(0));
    begin(&files, berta, b'c', 95).unwrap();
    put(&files, berta, &text(b'c', 60));
    // Those who are trusted are not counted.
    put(&files, TRUSTED, &text(b'd', 500));
    // What waits for validation counts on when the upload is gone, and after a restart.
    let task = Task(7);
    let token = cairn_engine::Token {
        epoch: 1,
        attempt: 1,
    };
    files
        .hold(anna, task, token, &[made("out", &kept)])
        .unwrap();
    files.forget(anna, &kept);
    assert_eq!(files.allowance.used(), (vec![(1, 70), (2, 60)], 130));
    assert_eq!(over(begin(&files, anna, b'b', 31)), Over::Each(70));
    drop(files);
    let files = open();
    let (by, all) = files.allowance.used();
    assert!(by[0].1 >= 70 && by[0].1 < 100 + 200, "{by:?}");
    assert_eq!(all, by[0].1 + by[1].1);
    // Printed bytes count until the task is settled.
    assert_eq!(
        files.may_print(berta, (task, token), 41),
        Err(Over::Each(60))
    );
    let settled = files.forget_held(task);
    assert!(settled.is_empty());
    files.may_print(berta, (task, token), 40).unwrap();
    assert_eq!(files.allowance.used(), (vec![(2, 100)], 100));
    assert_eq!(files.forget_held(task), [token]);
    assert_eq!(files.allowance.used(), (vec![(2, 60)], 60));
    // What was printed before this server began counts as well.
    files.found_print(2, (task, token), 25);
    assert_eq!(files.allowance.used(), (vec![(2, 85)], 85));
    assert_eq!(files.forget_held(task), [token]);
    assert_eq!(files.allowance.used(), (vec![(2, 60)], 60));
    // An attempt that prints more than anybody may have need not wait for room.
    files.may_print(anna, (task, token), 50).unwrap();
    let more = files.allowance.allowed().most() - 49;
    assert_eq!(files.may_print(anna, (task, token), more), Err(Over::Ever));
    // Nor does one that has failed keep room from the next.
    assert!(files.forget_print(task, token) && !files.forget_print(task, token));
    assert_eq!(files.allowance.used(), (vec![(2, 60)], 60));
    begin(&files, anna, b'b', 90).unwrap();
    // However much others have, everybody has its share: a tenth of a half.
    files.allowance.found(3, 1_000);
    assert_eq!(over(begin(&files, anna, b'b', 21)), Over::All(0));
    begin(&files, anna, b'b', 20).unwrap();
}
