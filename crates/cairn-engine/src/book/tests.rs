use super::*;

fn who(number: usize) -> KnownId {
    KnownId::new(number)
}

/// Numbers that depend on the seed alone.
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.uniform() * bound as f64) as usize
    }
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn recorded(tasks: usize, kinds: usize) -> Expected {
    Expected {
        seconds: vec![Some(10.0); tasks],
        kind: (0..tasks).map(|t| KindId::new(t % kinds)).collect(),
        kinds: (0..kinds).map(|k| format!("kind {k}")).collect(),
    }
}

/// Everything a pool of workers of known speeds returns, as the model has it.
fn play(seed: u64, workers: usize, returns: usize, sigma: f64, noise: f64) -> (Book, Vec<f64>) {
    let mut dice = Dice(seed);
    let (mut book, base) = Book::new(&recorded(30, 3), &Memory::default());
    let speeds: Vec<f64> = (0..workers).map(|_| sigma * dice.normal()).collect();
    for w in 0..workers {
        assert_eq!(book.join(&format!("w{w}"), None), who(w));
    }
    for _ in 0..returns {
        let (w, t) = (dice.below(workers), dice.below(30));
        let seconds = base[t] * (noise * dice.normal() - speeds[w]).exp();
        book.returned(who(w), KindId::new(t % 3), base[t], seconds);
    }
    (book, speeds)
}

#[test]
fn speeds_are_learnt_and_doubt_is_honest() {
    let (mut off, mut count, mut far) = (0.0, 0.0, 0.0);
    for seed in 0..200 {
        let (book, speeds) = play(seed, 12, 120, 0.7, 0.2);
        for (w, truth) in speeds.iter().enumerate() {
            let error = book.known[w].log_speed - truth;
            off += error.abs();
            far += f64::from(u8::from(error * error > 9.0 * book.doubt(who(w))));
            count += 1.0;
        }
    }
    assert!(off / count < 0.1, "mean error of ln speed {}", off / count);
    // The doubt tells of noise alone; the origin of all speeds is learnt with the kinds.
    assert!(
        far / count < 0.03,
        "beyond three deviations: {}",
        far / count
    );
}

#[test]
fn who_is_new_is_as_the_others_are() {
    let (mut book, _) = play(5, 10, 400, 0.05, 0.1);
    book.join("new", None);
    assert!(
        (book.speed(who(10)) - 1.0).abs() < 0.15,
        "{}",
        book.speed(who(10))
    );
    assert!(
        book.doubt(who(10)) < 0.06,
        "an equal pool has no surprises: {}",
        book.doubt(who(10))
    );
    let (mut book, _) = play(5, 10, 400, 1.0, 0.1);
    book.join("new", None);
    assert!(book.doubt(who(10)) > 0.3, "{}", book.doubt(who(10)));
}

#[test]
fn a_handshake_is_worth_a_few_returns() {
    let (mut told, base) = Book::new(&recorded(4, 1), &Memory::default());
    let mut seen = told.clone();
    told.join("a", Some(3.0));
    seen.join("a", None);
    for _ in 0..2 {
        seen.returned(who(0), KindId(0), base[0], base[0] / 3.0);
    }
    let ratio = seen.doubt(who(0)) / told.doubt(who(0));
    assert!((0.4..1.3).contains(&ratio), "{ratio}");
    assert!(told.speed(who(0)) > 1.5, "{}", told.speed(who(0)));
    // Nonsense is not believed.
    for strange in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (mut book, _) = Book::new(&recorded(4, 1), &Memory::default());
        book.join("a", Some(strange));
        assert_eq!(book.speed(who(0)), 1.0);
    }
}

#[test]
fn kinds_without_durations_are_learnt_from_returns() {
    let expected = Expected {
        seconds: vec![None; 10],
        kind: [0, 1, 0, 1, 0, 1, 0, 1, 0, 1].map(KindId).to_vec(),
        kinds: vec!["short".into(), "long".into()],
    };
    let (mut book, base) = Book::new(&expected, &Memory::default());
    assert_eq!(base, [1.0; 10]);
    book.join("a", None);
    for task in 0..10 {
        let seconds = if task % 2 == 0 { 2.0 } else { 200.0 };
        book.returned(who(0), KindId::new(task % 2), base[task], seconds);
    }
    let ratio = book.factor(KindId(1)) / book.factor(KindId(0));
    assert!((60.0..160.0).contains(&ratio), "{ratio}");
    // The next run knows from its beginning.
    let (_, base) = Book::new(&expected, &book.memory());
    assert!((40.0..160.0).contains(&(base[1] / base[0])), "{base:?}");
}

#[test]
fn a_book_is_remembered_by_name() {
    let (book, _) = play(3, 6, 200, 0.7, 0.2);
    let text = serde_json::to_string(&book.memory()).unwrap();
    let memory: Memory = serde_json::from_str(&text).unwrap();
    assert_eq!(memory, book.memory());
    assert!(memory.is_readable());
    assert_eq!(memory.counts(), (3, 6));
    let (mut again, _) = Book::new(&recorded(30, 3), &memory);
    for w in (0..6).rev() {
        again.join(&format!("w{w}"), None);
        again.remember(who(5 - w), &memory);
    }
    for w in 0..6 {
        let (was, is) = (book.speed(who(w)), again.speed(who(5 - w)));
        assert!((is / was).ln().abs() < 0.15, "{w}: {was} {is}");
    }
    let newer: Memory =
        serde_json::from_str(&text.replacen("\"version\":3", "\"version\":9", 1)).unwrap();
    assert!(!newer.is_readable());
}

#[test]
fn a_worker_that_comes_again_is_the_same() {
    let (mut book, _) = play(4, 3, 60, 0.7, 0.1);
    let before = book.speed(who(1));
    assert_eq!(book.join("w1", None), who(1));
    assert_eq!(book.workers(), 3);
    assert!((book.speed(who(1)) / before).ln().abs() < 0.05);
}

#[test]
fn reliability_follows_what_happens() {
    let (mut book, base) = Book::new(&recorded(4, 1), &Memory::default());
    book.join("good", None);
    book.join("bad", None);
    assert_eq!(book.reliability(who(0)), 1.0);
    for _ in 0..20 {
        book.returned(who(0), KindId(0), base[0], 10.0);
        book.lost(who(1));
    }
    book.failed(who(1));
    assert!(book.reliability(who(0)) > 0.9 && book.reliability(who(1)) < 0.1);
    assert_eq!(book.turnaround(who(0)), Some(10.0));
    assert_eq!(book.turnaround(who(1)), None);
}

#[test]
fn deadlines_are_kept_by_nearly_all() {
    let (mut late, mut count) = (0, 0);
    for seed in 0..40 {
        let (book, speeds) = play(seed, 8, 160, 0.7, 0.3);
        let mut dice = Dice(seed + 1000);
        for w in 0..8 {
            for _ in 0..25 {
                let seconds = 10.0 * (0.3 * dice.normal() - speeds[w]).exp();
                late += usize::from(seconds > book.deadline(who(w), KindId(0), 10.0));
                count += 1;
            }
        }
    }
    assert!(late * 100 < count, "{late} of {count}");
    assert!(late > 0, "a deadline that nobody ever misses is too long");
}

/// The same learning with everything computed anew at every return, written down as the model says.
struct Twin {
    spread: f64,
    mean: f64,
    workers: Vec<Vec<(f64, f64)>>,
    kinds: Vec<Vec<(f64, f64)>>,
    squares: Vec<Vec<f64>>,
}

impl Twin {
    fn noise(&self, kind: usize) -> f64 {
        let all: f64 = self.squares.iter().flatten().sum();
        let count: usize = self.squares.iter().map(Vec::len).sum();
        let pooled = (5.0 * 0.05 + all) / (5.0 + count as f64);
        let own: f64 = self.squares[kind].iter().sum();
        ((2.0 * pooled + own) / (2.0 + self.squares[kind].len() as f64)).max(0.0025)
    }
    fn weighed(seen: &[(f64, f64)]) -> (f64, f64) {
        let precision: f64 = seen.iter().map(|s| s.0).sum();
        (
            precision,
            seen.iter().map(|s| s.0 * s.1).sum::<f64>() / precision,
        )
    }
    fn worker(&self, w: usize) -> (f64, f64) {
        let mut seen = self.workers[w].clone();
        seen.push((1.0 / self.spread, self.mean));
        let (precision, mean) = Twin::weighed(&seen);
        (mean, 1.0 / precision)
    }
    fn returned(&mut self, w: usize, k: usize, ratio: f64) {
        let tau = self.noise(k);
        let (b, doubt) = self.worker(w);
        let (precision, g) = Twin::weighed(&self.kinds[k]);
        let all = tau + 1.0 / precision + doubt;
        let r = (ratio.ln() - g + b).clamp(-3.0 * all.sqrt(), 3.0 * all.sqrt());
        self.squares[k].push((r * tau / all).powi(2) + tau * (1.0 - tau / all));
        self.workers[w].push((1.0 / (tau + 1.0 / precision), b - r));
        self.kinds[k].push((1.0 / (tau + doubt), g + r));
        let seen: Vec<(f64, f64)> = (self.workers.iter())
            .filter(|s| !s.is_empty())
            .map(|s| Twin::weighed(s))
            .collect();
        let weight = |p: f64| 1.0 / (self.spread + 1.0 / p);
        let weights: f64 = seen.iter().map(|s| weight(s.0)).sum();
        self.mean = seen.iter().map(|s| weight(s.0) * s.1).sum::<f64>() / (1.0 + weights);
        let squares: f64 = seen
            .iter()
            .map(|s| (s.1 - self.mean).powi(2) - 1.0 / s.0)
            .sum();
        self.spread = ((0.5 + squares) / (2.0 + seen.len() as f64)).max(0.0004);
    }
}

#[test]
fn the_book_learns_as_the_model_says() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let workers = 1 + dice.below(8);
        let (mut book, base) = Book::new(&recorded(9, 3), &Memory::default());
        let mut twin = Twin {
            spread: 0.25,
            mean: 0.0,
            workers: vec![Vec::new(); workers],
            kinds: vec![vec![(100.0, 0.0)]; 3],
            squares: vec![Vec::new(); 3],
        };
        for w in 0..workers {
            book.join(&format!("{w}"), None);
        }
        for _ in 0..30 {
            let (w, k, ratio) = (
                dice.below(workers),
                dice.below(3),
                (0.8 * dice.normal()).exp(),
            );
            book.returned(who(w), KindId::new(k), base[k], ratio * base[k]);
            twin.returned(w, k, ratio);
            for w in 0..workers {
                let (mean, doubt) = twin.worker(w);
                assert!((book.known[w].log_speed - mean).abs() < 1e-6, "seed {seed}");
                assert!((book.doubt(who(w)) - doubt).abs() < 1e-6, "seed {seed}");
            }
            for k in 0..3 {
                let (_, drift) = Twin::weighed(&twin.kinds[k]);
                assert!(
                    (book.drift(KindId::new(k)) - drift).abs() < 1e-6,
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn what_is_wrong_with_one_entry_does_not_cost_the_others() {
    let text = r#"{"version":3,
        "kinds":{"good":{"log":1,"variance":0.1,"returned":3},"bad":{"log":1,"variance":-1,"returned":3}},
        "workers":{"good":{"log":0.5,"variance":0.1,"returned":3},"null":{"log":null,"variance":0.1,"returned":3}},
        "volunteers":{"bad":7},
        "files":[{"kind":"k","output":0,"seen":2,"most":1.5},
                 {"kind":"k","output":1,"seen":2,"most":-1.0},
                 {"kind":"k","output":2,"unknown":true,"seen":2,"most":1e300},
                 {"kind":"k","output":3,"seen":"two","most":1.0},
                 {"kind":"placeholder","output":0,"seen":1,"most":1e9},
                 "what is this"]}"#;
    let memory: Memory = serde_json::from_str(text).unwrap();
    assert!(memory.is_readable());
    assert_eq!(memory.counts(), (1, 1));
    let kinds = ["k", "placeholder"].map(String::from);
    let learnt = memory.files().learnt(&kinds);
    assert_eq!(learnt.iter().map(|l| l.output).collect::<Vec<_>>(), [0]);
    assert_eq!(memory.spoilt(), 8);
    // What is written after that is without them.
    let text = serde_json::to_string(&memory).unwrap();
    let again: Memory = serde_json::from_str(&text).unwrap();
    assert_eq!((again.spoilt(), again.counts()), (0, (1, 1)));
}

/// One run declares a byte for a gigabyte. That is true of it alone: others of the same kinds, with the same book, go by their
/// own sizes.
#[test]
fn a_placeholder_for_a_size_does_not_spoil_a_book() {
    let kinds = ["align".to_owned()];
    let of = |most: f64| {
        let learnt = crate::Learnt {
            kind: KindId(0),
            output: 0,
            is_unknown: false,
            seen: 1,
            most,
        };
        crate::Taken::of(&[learnt], &kinds)
    };
    let book = Memory::default().with_files(of(2.0));
    let book = book.then(&Memory::default().with_files(of(1e9)));
    let most: Vec<f64> = (book.files().learnt(&kinds).iter())
        .map(|l| l.most)
        .collect();
    assert_eq!(most, [2.0]);
    // In its own store it stays, for the rest of that run.
    let text = serde_json::to_string(&of(1e9)).unwrap();
    let kept: crate::Taken = serde_json::from_str(&text).unwrap();
    assert_eq!(kept.learnt(&kinds)[0].most, 1e9);
}
