//! A Slurm that forgets, refuses, lies about its answers and goes away; a submitter that is killed at any moment.

use super::*;
use crate::Task;
use crate::slurm::Files;
use cairn_dag::{Dag, TaskId, narrow};
use cairn_engine::Keeper;
use cairn_plan::Work;
use cairn_theory::storage::{Storage, Stored};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cell::RefCell;
use std::rc::Rc;

type Random = Pcg64Mcg;

fn handover(tasks: usize, density: f64, random: &mut Random) -> Handover {
    let task = |place: usize, random: &mut Random| Task {
        name: format!("t{place}"),
        parents: (0..narrow(place))
            .filter(|_| random.random_bool(density))
            .collect(),
        ..Task::default()
    };
    Handover {
        name: "w".to_owned(),
        home: "/".into(),
        tasks: (0..tasks).map(|place| task(place, random)).collect(),
        is_nice: random.random_bool(0.2),
        ..Handover::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Pending,
    Running,
    Ended { well: bool },
}

#[derive(Clone)]
struct Element {
    place: Option<u32>,
    index: u32,
    phase: Phase,
    /// Cancelled while it ran: it takes its time to end.
    is_doomed: bool,
}

#[derive(Clone)]
struct Job {
    id: u64,
    serial: u64,
    after: Vec<String>,
    is_held: bool,
    elements: Vec<Element>,
}

/// A cluster of so many processors with all of Slurm's habits.
struct Fake<'a> {
    handover: &'a Handover,
    random: Random,
    jobs: Vec<Job>,
    next: u64,
    slots: usize,
    limit: usize,
    /// How often something goes wrong.
    faults: f64,
    /// Tasks that fail as long as this says so.
    fails: Vec<bool>,
    exits: Vec<Option<Exit>>,
    starts: Vec<u32>,
    /// How often each task ended well.
    executed: Vec<u32>,
    /// Which calls began which tasks.
    begun: HashSet<(u32, u64)>,
    /// What the controller has written down: the jobs, and the next number.
    saved: (Vec<Job>, u64),
    /// Whether the site replaces comments and commands, so that jobs are known by their numbers alone.
    hides_keys: bool,
    /// How often it refused a call for what that was to wait for.
    unmet: u32,
    /// Where tasks write, if anybody looks.
    shelf: Option<Rc<RefCell<Shelf>>>,
}

impl Fake<'_> {
    fn alive(&self) -> usize {
        let elements = self.jobs.iter().flat_map(|job| &job.elements);
        elements
            .filter(|e| !matches!(e.phase, Phase::Ended { .. }))
            .count()
    }

    /// What Slurm knows of a dependency: an id that it has forgotten is fulfilled.
    fn depends(&self, on: &str) -> Phase {
        let (id, index) = match on.split_once('_') {
            Some((id, index)) => (id, index.parse().ok()),
            None => (on, None),
        };
        let job = self.jobs.iter().find(|job| job.id.to_string() == id);
        let mut all = Phase::Ended { well: true };
        let elements = job.iter().flat_map(|job| &job.elements);
        for element in elements.filter(|e| index.is_none_or(|i: u32| i == e.index)) {
            match element.phase {
                Phase::Ended { well: true } => {}
                Phase::Ended { well: false } => return element.phase,
                _ => all = Phase::Pending,
            }
        }
        all
    }

    /// The controller is killed and comes back with what it had written down: what it does not know to run is ended, and
    /// numbers are given again.
    fn roll_back(&mut self) {
        let now = std::mem::replace(&mut self.jobs, self.saved.0.clone());
        self.next = self.saved.1;
        for job in &mut self.jobs {
            let real = now
                .iter()
                .find(|j| (j.id, j.serial) == (job.id, job.serial));
            for element in &mut job.elements {
                let real = real.and_then(|j| j.elements.iter().find(|e| e.index == element.index));
                let still = real.is_some_and(|e| e.phase == Phase::Running);
                if element.phase == Phase::Running && !still {
                    element.phase = Phase::Ended { well: false };
                }
            }
        }
    }

    /// Some time passes.
    fn tick(&mut self) {
        if self.random.random_bool(self.faults / 4.0) {
            self.roll_back();
        }
        if self.random.random_bool(0.3) {
            self.saved = (self.jobs.clone(), self.next);
        }
        for job in 0..self.jobs.len() {
            let after: Vec<Phase> = self.jobs[job]
                .after
                .iter()
                .map(|a| self.depends(a))
                .collect();
            if after.contains(&Phase::Ended { well: false }) {
                let pending = self.jobs[job].elements.iter_mut();
                pending
                    .filter(|e| e.phase == Phase::Pending)
                    .for_each(|e| e.phase = Phase::Ended { well: false });
            }
            let is_free = after.iter().all(|a| *a == Phase::Ended { well: true });
            for element in 0..self.jobs[job].elements.len() {
                let running = self.jobs.iter().flat_map(|j| &j.elements);
                let running = running.filter(|e| e.phase == Phase::Running).count();
                let is_held = self.jobs[job].is_held;
                let e = &self.jobs[job].elements[element];
                if e.phase == Phase::Pending && is_free && !is_held && running < self.slots {
                    let (place, serial) = (e.place, self.jobs[job].serial);
                    let phase = self.start(place, serial);
                    self.jobs[job].elements[element].phase = phase;
                }
            }
        }
        for job in 0..self.jobs.len() {
            for element in 0..self.jobs[job].elements.len() {
                let e = &self.jobs[job].elements[element];
                if e.phase == Phase::Running && self.random.random_bool(0.5) {
                    let (place, serial, is_doomed) = (e.place, self.jobs[job].serial, e.is_doomed);
                    let well = !is_doomed && self.end(place, serial);
                    self.jobs[job].elements[element].phase = Phase::Ended { well };
                }
            }
        }
        let forgets = self.random.random_bool(0.3);
        let ended = |job: &Job| {
            job.elements
                .iter()
                .all(|e| matches!(e.phase, Phase::Ended { .. }))
        };
        self.jobs.retain(|job| !(forgets && ended(job)));
    }

    /// As the script of every job does it.
    fn start(&mut self, place: Option<u32>, serial: u64) -> Phase {
        let Some(place) = place else {
            return Phase::Running;
        };
        if self.exits[wide(place)].is_some_and(|exit| exit.code == 0) {
            return Phase::Ended { well: true };
        }
        let parents = &self.handover.tasks[wide(place)].parents;
        let well = |&p: &u32| self.exits[wide(p)].is_some_and(|exit| exit.code == 0);
        if !parents.iter().all(well) {
            let code = Exit::NOT_STARTED;
            self.exits[wide(place)] = Some(Exit { serial, code });
            return Phase::Ended { well: false };
        }
        if !self.begun.insert((place, serial)) {
            return Phase::Ended { well: false };
        }
        let twice = self.jobs.iter().flat_map(|j| &j.elements);
        let twice = twice.filter(|e| e.place == Some(place) && e.phase == Phase::Running);
        assert_eq!(twice.count(), 0, "task {place} runs twice at once");
        self.starts.push(place);
        if let Some(shelf) = &self.shelf {
            shelf.borrow_mut().write(place);
        }
        Phase::Running
    }

    fn end(&mut self, place: Option<u32>, serial: u64) -> bool {
        let Some(place) = place else {
            return true;
        };
        if self.random.random_bool(self.faults / 4.0) {
            return false; // The machine is gone, without a word.
        }
        let code = i32::from(self.fails[wide(place)]);
        self.exits[wide(place)] = Some(Exit { serial, code });
        self.executed[wide(place)] += u32::from(code == 0);
        code == 0
    }
}

impl Cluster for Fake<'_> {
    fn submit(&mut self, sbatch: &Sbatch) -> Submitted {
        let fault = self.random.random_bool(self.faults);
        if fault && self.random.random_bool(0.5) {
            return Submitted::Unknown("nobody heard it".to_owned());
        }
        if self.alive() + wide(sbatch.len) > self.limit {
            return Submitted::Quota("AssocMaxSubmitJobLimit".to_owned());
        }
        let id = self.next;
        self.next += 1;
        let element = |index: u32| Element {
            place: sbatch.first.map(|first| first + index),
            index,
            phase: Phase::Pending,
            is_doomed: false,
        };
        // What Slurm does not know when a job comes is fulfilled.
        let is_known = |after: &&String| {
            let id = after.split('_').next();
            self.jobs
                .iter()
                .any(|job| id == Some(job.id.to_string().as_str()))
        };
        // Or it says that there is a problem with it.
        let has_unknown = !sbatch.after.iter().all(|after| is_known(&after));
        if has_unknown && self.random.random_bool(0.5) {
            self.unmet += 1;
            return Submitted::Dependency("Job dependency problem".to_owned());
        }
        let after = sbatch.after.iter().filter(is_known).cloned().collect();
        self.jobs.push(Job {
            id,
            serial: sbatch.serial,
            after,
            is_held: sbatch.first.is_none(),
            elements: (0..sbatch.len).map(element).collect(),
        });
        if self.random.random_bool(0.2) {
            self.tick();
        }
        match fault {
            true => Submitted::Unknown("the answer is lost".to_owned()),
            false => Submitted::Job(id.to_string()),
        }
    }

    fn queue(&mut self) -> Result<Vec<Listed>, String> {
        if self.random.random_bool(self.faults) {
            return Err("away".to_owned());
        }
        let listed = |job: &Job| {
            let (serial, id) = (job.serial, job.id.to_string());
            let serial = Some(serial).filter(|_| !self.hides_keys);
            let held = job.is_held.then(|| "JobHeldUser".to_owned());
            let element = move |e: &Element| Listed {
                serial,
                index: e.index,
                job: id.clone(),
                is_active: !matches!(e.phase, Phase::Ended { .. }),
                held: held.clone(),
            };
            job.elements.iter().map(element).collect::<Vec<_>>()
        };
        Ok(self.jobs.iter().flat_map(listed).collect())
    }

    fn exit(&mut self, place: u32) -> Option<Exit> {
        self.exits[wide(place)]
    }

    fn release(&mut self, job: &str) -> Result<(), String> {
        let job = self.jobs.iter_mut().find(|j| j.id.to_string() == job);
        job.into_iter().for_each(|job| job.is_held = false);
        Ok(())
    }

    fn cancel(&mut self, jobs: &[String]) -> Result<(), String> {
        let those = self
            .jobs
            .iter_mut()
            .filter(|j| jobs.contains(&j.id.to_string()));
        for element in those.flat_map(|job| &mut job.elements) {
            match element.phase {
                Phase::Pending => element.phase = Phase::Ended { well: false },
                Phase::Running => element.is_doomed = true,
                Phase::Ended { .. } => {}
            }
        }
        Ok(())
    }
}

fn fake<'a>(handover: &'a Handover, random: &mut Random) -> Fake<'a> {
    let tasks = handover.tasks.len();
    Fake {
        handover,
        random: Random::seed_from_u64(random.random()),
        jobs: Vec::new(),
        next: 1,
        slots: random.random_range(1..4),
        limit: random.random_range(2..12),
        faults: 0.0,
        fails: vec![false; tasks],
        exits: vec![None; tasks],
        starts: Vec::new(),
        executed: vec![0; tasks],
        begun: HashSet::new(),
        saved: (Vec::new(), 1),
        hides_keys: false,
        unmet: 0,
        shelf: None,
    }
}

/// Steps until nothing is left, or the submitter is killed: by a write that does not come through.
fn play(window: &mut Window<'_>, fake: &mut Fake<'_>, journal: &mut Vec<Event>, kill: f64) -> bool {
    let mut killer = Random::seed_from_u64(fake.random.random());
    for _ in 0..3000 {
        let mut write = |event: &Event| {
            // Before the line is on the disk, or after: in both cases nobody acts on it.
            let dies = killer.random_bool(kill);
            if !dies || killer.random_bool(0.5) {
                journal.push(event.clone());
            }
            match dies {
                true => Err(std::io::Error::other("killed")),
                false => Ok(()),
            }
        };
        match window.step(fake, &mut write, &mut |_| {}) {
            Ok(Step::Over) => return true,
            Ok(_) => fake.tick(),
            Err(_) => return false,
        }
    }
    panic!("it never ends: {:?}", window.standing());
}

fn wishes(random: &mut Random) -> Wishes {
    Wishes {
        most_queued: Some(random.random_range(1..20)),
        most_in_array: random.random_range(1..6),
    }
}

#[test]
fn nothing_runs_twice_and_nothing_is_forgotten_whatever_breaks() {
    let mut unmet = 0;
    for seed in 0..3000 {
        let mut random = Random::seed_from_u64(seed);
        let tasks = random.random_range(1..16);
        let density = random.random_range(0.0..0.4);
        let handover = handover(tasks, density, &mut random);
        let mut fake = fake(&handover, &mut random);
        fake.faults = random.random_range(0.0..0.4);
        fake.fails = (0..tasks).map(|_| random.random_bool(0.1)).collect();
        let wishes = wishes(&mut random);
        let mut journal = Vec::new();
        let kill = random.random_range(0.0..0.3);
        for _ in 0..8 {
            let mut window = Window::new(&handover, wishes, &journal);
            play(&mut window, &mut fake, &mut journal, kill);
        }
        // From here on all goes well, but for tasks that fail by themselves. What was lost before is learnt now, and tried again
        // by the next run.
        fake.faults = 0.0;
        let mut window = Window::new(&handover, wishes, &journal);
        play(&mut window, &mut fake, &mut journal, 0.0);
        let mut window = Window::new(&handover, wishes, &journal);
        assert!(
            play(&mut window, &mut fake, &mut journal, 0.0),
            "seed {seed}"
        );
        for (place, task) in handover.placed() {
            let lacks = |&p: &u32| fake.executed[wide(p)] == 0;
            let hindered = fake.fails[wide(place)] || task.parents.iter().any(lacks);
            let expected = u32::from(!hindered);
            assert_eq!(
                fake.executed[wide(place)],
                expected,
                "seed {seed}, task {place}"
            );
            let is_executed = window.standing()[wide(place)] == Whereabouts::Executed;
            assert_eq!(
                is_executed,
                !hindered,
                "seed {seed}: {:?}",
                window.standing()
            );
        }
        // What failed is mended: the same again executes all of it, each once.
        fake.fails.fill(false);
        let mut window = Window::new(&handover, wishes, &journal);
        assert!(
            play(&mut window, &mut fake, &mut journal, 0.0),
            "seed {seed}"
        );
        assert!(
            fake.executed.iter().all(|&n| n == 1),
            "seed {seed}: {:?}",
            fake.executed
        );
        unmet += fake.unmet;
    }
    assert!(unmet > 100, "hardly any dependency was refused: {unmet}");
}

#[test]
fn on_one_processor_tasks_start_in_the_order_of_the_plan() {
    for seed in 0..1000 {
        let mut random = Random::seed_from_u64(seed);
        let tasks = random.random_range(1..20);
        let handover = handover(tasks, 0.15, &mut random);
        let mut fake = fake(&handover, &mut random);
        fake.slots = 1;
        let mut journal = Vec::new();
        let mut window = Window::new(&handover, wishes(&mut random), &journal);
        assert!(play(&mut window, &mut fake, &mut journal, 0.0));
        let order: Vec<u32> = (0..narrow(tasks)).collect();
        assert_eq!(fake.starts, order, "seed {seed}");
    }
}

#[test]
fn a_cancelled_run_is_taken_up_again_and_waits_for_what_still_runs() {
    for seed in 0..1000 {
        let mut random = Random::seed_from_u64(seed);
        let handover = handover(12, 0.2, &mut random);
        let mut fake = fake(&handover, &mut random);
        fake.limit = 100;
        let wishes = wishes(&mut random);
        let mut journal = Vec::new();
        let mut window = Window::new(&handover, wishes, &journal);
        let mut write = |event: &Event| {
            journal.push(event.clone());
            Ok(())
        };
        for _ in 0..random.random_range(1..6) {
            window.step(&mut fake, &mut write, &mut |_| {}).unwrap();
            fake.tick();
        }
        window.cancel(&mut fake, &mut write).unwrap();
        let pending = fake.jobs.iter().flat_map(|job| &job.elements);
        assert_eq!(pending.filter(|e| e.phase == Phase::Pending).count(), 0);
        // That no task runs twice at once is looked at whenever one starts.
        let mut window = Window::new(&handover, wishes, &journal);
        assert!(play(&mut window, &mut fake, &mut journal, 0.0));
        assert!(fake.executed.iter().all(|&n| n == 1), "seed {seed}");
    }
}

/// Files of the tasks by place, all of them temporary but those of the last, and a disk that counts.
struct Shelf {
    sizes: Vec<u64>,
    there: Vec<u64>,
    most: u64,
}

impl Shelf {
    fn write(&mut self, place: u32) {
        self.there[wide(place)] = self.sizes[wide(place)];
        self.most = self.most.max(self.there.iter().sum());
    }
}

struct Shared(Rc<RefCell<Shelf>>);

impl Files for Shared {
    fn bytes(&mut self, file: FileId) -> Option<u64> {
        Some(self.0.borrow().there[file.index()])
    }
    fn delete(&mut self, file: FileId) -> Result<(), String> {
        self.0.borrow_mut().there[file.index()] = 0;
        Ok(())
    }
}

/// A file a task, read by all its children.
fn storage(handover: &Handover, sizes: &[u64]) -> Storage {
    let stored = |(place, _): (u32, &Task)| {
        let reads = |t: &(u32, &Task)| t.1.parents.contains(&place);
        let readers = handover.placed().filter(reads);
        Stored {
            producer: Some(TaskId(place)),
            bytes: sizes[wide(place)],
            is_kept: false,
            consumers: readers.map(|(p, _)| TaskId(p)).collect(),
        }
    };
    let files = handover.placed().map(stored).collect();
    let tasks = handover.tasks.len();
    Storage::new(tasks, files, vec![0; tasks]).unwrap().0
}

#[test]
fn under_a_cap_all_is_executed_and_the_disk_is_never_over_it() {
    let mut tight = 0;
    for seed in 0..1500 {
        let mut random = Random::seed_from_u64(seed);
        let tasks = random.random_range(1..16);
        let handover = handover(tasks, 0.2, &mut random);
        let sizes: Vec<u64> = (0..tasks).map(|_| random.random_range(0..9)).collect();
        let storage = storage(&handover, &sizes);
        let arcs = |(place, task): (u32, &Task)| {
            let parents = task.parents.iter().copied();
            parents.map(move |p| (p, place)).collect::<Vec<_>>()
        };
        let dag = Dag::from_arcs(tasks, handover.placed().flat_map(arcs).collect()).unwrap();
        let order: Vec<TaskId> = (0..tasks).map(TaskId::new).collect();
        let cap = storage.peak(&order) + random.random_range(0..3);
        tight += u32::from(cap < sizes.iter().sum());
        let shelf = Rc::new(RefCell::new(Shelf {
            there: vec![0; tasks],
            sizes: sizes.clone(),
            most: 0,
        }));
        let mut fake = fake(&handover, &mut random);
        fake.shelf = Some(Rc::clone(&shelf));
        let wishes = wishes(&mut random);
        let mut journal = Vec::new();
        let kill = random.random_range(0.0..0.2);
        let mut is_over = false;
        for round in 0..200 {
            let mut window = Window::new(&handover, wishes, &journal);
            let keeper = Keeper::new(storage.clone(), &order, cap).unwrap();
            let space = Space::new(
                keeper,
                order.clone(),
                &handover,
                Box::new(Shared(Rc::clone(&shelf))),
                Box::new(|keeper: &mut Keeper| {
                    // Whoever went on otherwise than by this order may need another one for the rest.
                    assert!(keeper.is_safe() || keeper.replan(&dag, &mut Work::until(&|| false)));
                    Ok(keeper.waiting())
                }),
            );
            window.keep(space).unwrap();
            let kill = if round < 150 { kill } else { 0.0 };
            if play(&mut window, &mut fake, &mut journal, kill) {
                is_over = true;
                break;
            }
        }
        assert!(is_over, "seed {seed}");
        assert!(fake.executed.iter().all(|&n| n == 1), "seed {seed}");
        let shelf = shelf.borrow();
        assert!(shelf.most <= cap, "seed {seed}: {} of {cap}", shelf.most);
        assert_eq!(shelf.there.iter().sum::<u64>(), 0, "all are temporary");
    }
    assert!(tight > 700, "{tight}");
}

#[test]
fn a_policy_or_a_dependency_that_never_yields_is_an_error_and_a_limit_is_not() {
    struct Strict(&'static str);
    impl Cluster for Strict {
        fn submit(&mut self, _: &Sbatch) -> Submitted {
            match self.0.contains("dependency") {
                true => Submitted::Dependency(self.0.to_owned()),
                false => Submitted::Quota(self.0.to_owned()),
            }
        }
        fn queue(&mut self) -> Result<Vec<Listed>, String> {
            Ok(Vec::new())
        }
        fn exit(&mut self, _: u32) -> Option<Exit> {
            None
        }
        fn release(&mut self, _: &str) -> Result<(), String> {
            Ok(())
        }
        fn cancel(&mut self, _: &[String]) -> Result<(), String> {
            Ok(())
        }
    }
    let handover = handover(3, 0.0, &mut Random::seed_from_u64(1));
    let wishes = Wishes {
        most_queued: Some(10),
        most_in_array: 4,
    };
    for (printed, ends) in [
        ("Job violates accounting/QOS policy", true),
        ("Job dependency problem", true),
        ("QOSMaxSubmitJobPerUserLimit", false),
    ] {
        let mut window = Window::new(&handover, wishes, &[]);
        let mut cluster = Strict(printed);
        let steps = (0..10).map(|_| window.step(&mut cluster, &mut |_| Ok(()), &mut |_| {}));
        assert_eq!(steps.filter(Result::is_err).count() > 0, ends, "{printed}");
    }
}

#[test]
fn jobs_whose_keys_a_site_replaces_are_known_by_their_numbers() {
    for seed in 0..500 {
        let mut random = Random::seed_from_u64(seed);
        let handover = handover(10, 0.2, &mut random);
        let mut fake = fake(&handover, &mut random);
        (fake.hides_keys, fake.limit) = (true, 100);
        let wishes = wishes(&mut random);
        let mut journal = Vec::new();
        let mut window = Window::new(&handover, wishes, &journal);
        let mut write = |event: &Event| {
            journal.push(event.clone());
            Ok(())
        };
        // Many looks while the first jobs run: none of them is called lost.
        window.step(&mut fake, &mut write, &mut |_| {}).unwrap();
        for _ in 0..2 * LOOKS {
            let is_lost = |news: &News| matches!(news, News::Ended(_, Whereabouts::Lost));
            let news = &mut |news| assert!(!is_lost(&news), "seed {seed}: {news:?}");
            window.step(&mut fake, &mut write, news).unwrap();
        }
        if seed % 2 == 0 {
            // A number may be somebody else's: nothing is ended by it, and what goes on is not submitted again.
            assert_eq!(window.cancel(&mut fake, &mut write), Ok(0));
        }
        let mut window = Window::new(&handover, wishes, &journal);
        assert!(play(&mut window, &mut fake, &mut journal, 0.0));
        assert!(fake.executed.iter().all(|&n| n == 1), "seed {seed}");
    }
}

/// A queue that shows what it is told to show.
#[derive(Default)]
struct Board {
    listed: Vec<Listed>,
    released: Vec<String>,
    cancelled: Vec<String>,
}

impl Cluster for Board {
    fn submit(&mut self, sbatch: &Sbatch) -> Submitted {
        let job = (8 + sbatch.serial).to_string();
        self.listed.push(Listed {
            serial: Some(sbatch.serial),
            index: 0,
            job: job.clone(),
            is_active: true,
            held: None,
        });
        Submitted::Job(job)
    }
    fn queue(&mut self) -> Result<Vec<Listed>, String> {
        Ok(self.listed.clone())
    }
    fn exit(&mut self, _: u32) -> Option<Exit> {
        None
    }
    fn release(&mut self, job: &str) -> Result<(), String> {
        self.released.push(job.to_owned());
        Ok(())
    }
    fn cancel(&mut self, jobs: &[String]) -> Result<(), String> {
        self.cancelled.extend_from_slice(jobs);
        Ok(())
    }
}

const ONE_BY_ONE: Wishes = Wishes {
    most_queued: Some(3),
    most_in_array: 1,
};

#[test]
fn dependants_are_cancelled_before_those_they_wait_for() {
    let handover = handover(3, 1.0, &mut Random::seed_from_u64(1));
    let mut board = Board::default();
    let mut window = Window::new(&handover, ONE_BY_ONE, &[]);
    window
        .step(&mut board, &mut |_| Ok(()), &mut |_| {})
        .unwrap();
    window.cancel(&mut board, &mut |_| Ok(())).unwrap();
    assert_eq!(board.cancelled, ["11", "10", "9"]); // as text, 9 would be the largest
}

#[test]
fn a_job_that_a_machine_could_not_start_is_let_go_some_times_and_then_named() {
    let handover = handover(1, 0.0, &mut Random::seed_from_u64(1));
    let mut board = Board::default();
    let mut window = Window::new(&handover, ONE_BY_ONE, &[]);
    let mut news = Vec::new();
    for look in 0..6 {
        window
            .step(&mut board, &mut |_| Ok(()), &mut |n| news.push(n))
            .unwrap();
        let why = if look < 5 {
            "launch failed requeued held"
        } else {
            "JobHeldAdmin"
        };
        board.listed[0].held = Some(why.to_owned());
    }
    assert_eq!(board.released, ["9", "9", "9"]);
    let of = |is: fn(&News) -> bool| news.iter().filter(|n| is(n)).count();
    assert_eq!(of(|n| matches!(n, News::StartedAgain(0, ..))), 3);
    assert_eq!(of(|n| matches!(n, News::Held(0, ..))), 2);
}

#[test]
fn tasks_that_sbatch_would_be_told_apart_are_no_array() {
    let task = |retries, tags: &[&str]| Task {
        time_limit: Some(60.0),
        retries,
        tags: tags.iter().map(|&t| t.to_owned()).collect(),
        ..Task::default()
    };
    // Two that are alike, two with more attempts, one for certain machines.
    let tasks = [
        task(0, &[]),
        task(0, &[]),
        task(4, &[]),
        task(4, &[]),
        task(4, &["gpu"]),
    ];
    let handover = Handover {
        tasks: tasks.into(),
        ..Handover::default()
    };
    let wishes = Wishes {
        most_queued: None,
        most_in_array: 10,
    };
    let mut window = Window::new(&handover, wishes, &[]);
    let (mut board, mut calls) = (Board::default(), Vec::new());
    let mut write = |event: &Event| {
        if let Event::Call {
            first: Some(first),
            len,
            ..
        } = event
        {
            calls.push((*first, *len));
        }
        Ok(())
    };
    for _ in 0..5 {
        window.step(&mut board, &mut write, &mut |_| {}).unwrap();
    }
    assert_eq!(calls, [(0, 2), (2, 2), (4, 1)]);
}
