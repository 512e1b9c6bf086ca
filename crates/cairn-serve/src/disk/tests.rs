use super::*;

#[test]
fn room_is_the_cap_or_what_others_leave() {
    let spare = SPARE;
    // Plenty free.
    assert_eq!(room(100, 40, 10, 1 << 40), 100);
    // 30 are written and 20 more can be.
    assert_eq!(room(100, 40, 10, spare + 20), 50);
    // Nothing is free: what is written stays.
    assert_eq!(room(100, 40, 10, spare / 2), 30);
    assert_eq!(room(u64::MAX, u64::MAX, 0, u64::MAX), u64::MAX);
    assert_eq!(room(7, 0, 9, 0), 0);
}

#[test]
fn files_go_and_folders_and_links_elsewhere_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    std::fs::write(&file, "12345").unwrap();
    assert_eq!(bytes_at(&file), Some(5));
    let inner = folder.path().join("d");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("x"), "123").unwrap();
    assert_eq!(bytes_at(&inner), Some(3));
    let link = folder.path().join("l");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(swept_from(link.clone(), 5).left, None);
    assert!(file.exists() && link.symlink_metadata().is_err());
    assert!(swept_from(inner.clone(), 3).left.is_some());
    assert!(inner.exists());
    assert_eq!(swept_from(file.clone(), 5).left, None);
    assert!(!file.exists());
    // Gone is gone.
    assert_eq!(swept_from(file.clone(), 5).left, None);
    assert_eq!(bytes_at(&file), None);
    for name in ["a.half-made", "a.half-made.1"] {
        std::fs::write(folder.path().join(name), "1234").unwrap();
    }
    assert_eq!(aside(&file), 8);
}
