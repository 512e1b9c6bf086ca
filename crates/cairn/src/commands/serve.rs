//! `cairn serve`: hands out the tasks of a workflow to workers that come and go.

mod family;
mod jobs;
mod kept;
mod policy;

use self::family::Told;
use self::jobs::Served;
use self::kept::unusable;
use self::policy::{Asked, Policy};
use super::caps::{self, time};
use super::family::Wanted;
use super::lookout::{Lookout, Workers};
use super::pictures::short_name;
use super::run::disk as on_disk;
use super::run::tight;
use super::runnable::{self, names_real_files, pool, rules_for, template};
use super::sight::{Seen, SeenFamily};
use crate::cli;
use crate::failure::{Failure, INTERRUPTED_CODE};
use crate::input::Named;
use crate::limits;
use crate::output::Output;
use crate::plural::counted;
use crate::states;
use cairn_dag::{Flow, TaskId, plain};
use cairn_engine::{Expected, Keeper, Placing, Position, Rules, Span};
use cairn_formats::{Format, Jobs, Template};
use cairn_serve::http::{
    self, Allowed, Beforehand, BeginError, Begun, DiskNews, Handle, ServeError, ServedDisk,
    ServerEnd, Tasks,
};
use cairn_serve::run::{WhyAgain, Wishes};
use cairn_serve::store::{FILE, Store, Sync};
use cairn_serve::tls::{Certificate, TlsError};
use cairn_serve::tokens::Tokens;
use cairn_serve::{BookError, BookFile, DiskSetup, Found, NO_LIMIT};
use serde_json::json;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// With so many workers priorities under a tight cap are played, since nobody knows how many will come.
// As `simulate` has it where none are given.
const WORKERS: u32 = 16;

/// What to serve, and how, checked.
pub(crate) struct Settings {
    flags: cli::Serve,
    pools: Vec<(String, u32)>,
    template: Option<Template>,
    input: cli::Input,
    family: Option<Wanted>,
    disk: Option<caps::Disk>,
    workers: Workers,
    largest_file: u64,
    /// Bytes that a volunteer may have here, and all of them.
    uploads: (u64, Option<u64>),
    silence: Duration,
    /// How long volunteers have at least.
    deadline: Option<Duration>,
    token_lifetime: Option<Duration>,
    /// The one that was given; one of the server's own is made in its state.
    certificate: Option<Certificate>,
}

impl Settings {
    pub(crate) fn new(flags: cli::Serve) -> Result<Settings, Failure> {
        // Before anything else: a token that went in clear once is no secret any more.
        let is_clear = !flags.security.tls && flags.security.cert.is_none();
        if is_clear && !flags.listen.ip().is_loopback() {
            return Err(in_clear(&ServeError::Clear(flags.listen)));
        }
        check_files(&flags)?;
        let pools: Result<_, Failure> = flags.pool.iter().map(|text| pool(text)).collect();
        let lifetime = flags
            .security
            .token_lifetime
            .map(|s| time("--token-lifetime", s));
        let template = template(flags.run.as_deref())?;
        let all_uploads = flags.all_uploads.as_deref();
        let settings = Settings {
            pools: pools?,
            family: Wanted::new(&flags.workflow, template.as_ref())?,
            disk: on_disk::checked(&flags.disk, flags.safety, flags.ignore_files)?,
            template,
            workers: Workers::expected(&flags.expected, flags.policy)?,
            input: flags.workflow.input(),
            largest_file: caps::size("--largest-file", &flags.security.largest_file)?,
            uploads: (
                caps::size("--volunteer-uploads", &flags.volunteer_uploads)?,
                (all_uploads.map(|text| caps::size("--all-uploads", text))).transpose()?,
            ),
            silence: time("--silence", flags.silence)?,
            deadline: (flags.deadline.map(|s| time("--deadline", s))).transpose()?,
            token_lifetime: lifetime.transpose()?,
            certificate: given_certificate(&flags)?,
            flags,
        };
        // A state that is there may have more tokens than are asked for now: it is asked when it is open.
        if !settings.has_state() {
            settings.asked().check()?;
        }
        Ok(settings)
    }

    /// Whether an earlier server left its state.
    fn has_state(&self) -> bool {
        self.flags.state.join(FILE).exists()
    }

    /// What is asked of volunteers.
    fn asked(&self) -> Asked {
        Asked {
            volunteers: self.flags.volunteers,
            quorum: self.flags.quorum,
            replicate_all: self.flags.replicate_all,
            deadline: self.deadline,
            is_capped: self.disk.is_some(),
        }
    }
}

/// What can be read, and what nobody would read, before a state is begun.
fn check_files(flags: &cli::Serve) -> Result<(), Failure> {
    let expected = &flags.expected;
    // A family is served in its own order, which is the best there is.
    if flags.workflow.family.is_some()
        && (expected.slots.is_some() || !expected.world_from.is_empty())
    {
        return Err(Failure::usage(
            "--slots and --world-from choose an order, and a family has the best one by itself",
            "leave them out",
        ));
    }
    let read = Named::of("the workflow", &flags.workflow.file).logs(&flags.times);
    read.and("a log", &expected.world_from).checked()?;
    if flags.workflow.family.is_some() {
        return Ok(()); // which has no book
    }
    // Read once more when the state is open, which nobody else writes to then.
    book(flags).read().map(|_| ()).map_err(|e| no_book(&e))
}

fn in_clear(error: &ServeError) -> Failure {
    Failure::usage(
        error.to_string(),
        "add --tls, or give a certificate with --cert and --key, or listen on 127.0.0.1",
    )
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    match &settings.family {
        Some(wanted) => serve_family(settings, wanted, out),
        None => serve_flow(settings, out),
    }
}

fn refused(error: &BeginError) -> Failure {
    match error {
        BeginError::Store(_) | BeginError::Random(_) => unusable(error),
        BeginError::OtherCommand { .. } => Failure::of(error, super::run::OTHER_COMMAND),
        BeginError::OtherFlow(_) => {
            Failure::of(error, "give the workflow a state of its own with --state")
        }
        BeginError::Cap(unkept) => on_disk::no_order(unkept),
    }
}

/// A family that is never written down: its own order is the best there is.
fn serve_family(settings: &Settings, wanted: &Wanted, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let mut rules = Rules {
        retries: flags.retries,
        failures: flags.max_failures,
        losses: flags.losses,
        silence: Span(settings.silence.as_micros() as u64),
        ..Rules::default()
    };
    let mut store = Store::create_or_open(&flags.state, Sync::Full).map_err(|e| unusable(&e))?;
    let policy = Policy::of(&settings.asked(), &store)?;
    if let Some(policy) = &policy {
        rules.distrust = policy.distrust(&mut store)?;
    }
    let begun = http::begin_family(
        &mut store,
        &wanted.name,
        &wanted.line(),
        wanted.shape(),
        rules,
    );
    let begun = begun.map_err(|e| refused(&e))?;
    let tokens = tokens(settings, &mut store)?;
    // Only now: a start that is refused must not change what the state says of volunteers.
    policy.map_or(Ok(()), |policy| policy.keep(&mut store))?;
    let told = Arc::new(Told(wanted.clone()));
    let sight: Arc<dyn http::Sight> = Arc::new(SeenFamily::new(wanted));
    let server = Server {
        tokens,
        book: None,
        sight,
    };
    serve(settings, begun, store, told, server, out, |_| ())
}

fn serve_flow(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    // The first line is where it listens: warnings come after.
    let mut silent = *out;
    silent.quiet = true;
    let (input, template) = (&settings.input, settings.template.as_ref());
    let whole = runnable::open(input, flags.no_rescue, &flags.times, template, &silent)?;
    let (flow, jobs) = (whole.flow, whole.jobs);
    let mut rules = make_rules(settings, &flow, &jobs, whole.format)?;
    let lookout = lookout(settings, &flow);
    let quick = || lookout.quick();
    let served = Arc::new(Served::new(jobs));
    let directory = |task| served.directory(task);
    let minds_files = !flags.ignore_files && names_real_files(whole.format);
    let part = on_disk::Part {
        flow: &flow,
        wanted: None,
        safety: flags.safety,
    };
    let caps = settings.disk.as_ref();
    let said = RefCell::new(Vec::new());
    let say = |line: &str| said.borrow_mut().push(line.to_owned());
    let layout = on_disk::layout(caps, &part, minds_files, &quick, &say)?;
    let watch = watch(flags, &flow, &say)?;
    if let Some(layout) = layout.as_ref().filter(|_| !settings.has_state()) {
        let known = watch.memory.files();
        part.refuse_new(caps, layout, &whole.is_executed, &directory, known)?;
    }
    // After what flags and workflow alone can be refused for. Whether the cap does where tasks were executed before, or where that
    // takes long to see, is the keeper's word, which knows what a state has.
    let mut store = Store::create_or_open(&flags.state, Sync::Full).map_err(|e| unusable(&e))?;
    let (tokens, policy) = see_to_volunteers(settings, &flow, &mut rules, &mut store)?;
    let planner = |keeper: &mut Keeper, time| part.plan(caps, keeper, time);
    let is_over = Arc::new(AtomicBool::new(false));
    let priorities = |keeper: &Keeper| tight::look(&flow, keeper, WORKERS, &is_over);
    let tell = |news: &DiskNews<'_>| tell(news, out);
    let setup = http::Setup {
        flow: &flow,
        disk: layout.map(|layout| ServedDisk {
            files: DiskSetup {
                layout,
                planner: &planner,
                priorities: &priorities,
            },
            tell: &tell,
        }),
        done: &whole.is_executed,
        fingerprints: served.fingerprints(),
        files: minds_files.then_some(&directory),
        weights: http::weights(&flow),
        rules,
        about: lookout.about_quick(),
        // What opens most together is the theory's question; other policies go by their order.
        batches: flags.policy == cli::Wanted::Given(cli::Policy::Ic),
        watch,
    };
    let mut begun = http::begin(&mut store, setup, quick).map_err(|e| refused(&e))?;
    policy.map_or(Ok(()), |policy| policy.keep(&mut store))?;
    let better = begun.better.take();
    let again = told_again(&flow, &begun.again);
    let is_planned = begun.is_planned;
    // Under a cap an order must be safe as well: the first stays.
    let goes_on = better.is_none() && caps.is_none();
    // It stands in the title of a page, and a file may be called anything.
    let name = cairn_dag::plain(whole.source.name()).into_owned();
    let sight = Seen::new(Arc::clone(&flow), short_name(&name), Arc::clone(&is_over));
    let tasks = served.clone();
    let server = Server {
        tokens,
        book: Some(book(flags)),
        sight: Arc::new(sight),
    };
    let ended = serve(settings, begun, store, tasks, server, out, |handle| {
        out.warnings(&whole.problems);
        said.borrow().iter().for_each(|line| out.remark(line));
        again.iter().for_each(|line| out.remark(line));
        let found = better.or_else(|| (!is_planned).then(|| lookout.begin(&is_over)));
        let later = goes_on.then(|| (lookout.clone(), Arc::clone(&is_over)));
        bring(found, handle.clone(), *out, later);
    });
    is_over.store(true, Ordering::Relaxed);
    ended
}

/// The tokens, and what results of volunteers count for, where there are any: the rules are told.
fn see_to_volunteers(
    settings: &Settings,
    flow: &Flow,
    rules: &mut Rules,
    store: &mut Store,
) -> Result<(Tokens, Option<Policy>), Failure> {
    let policy = Policy::of(&settings.asked(), store)?;
    // Before the rules are complete: they know volunteers by their tokens.
    let tokens = tokens(settings, store)?;
    if let Some(policy) = &policy {
        rules.distrust = policy.distrust(store)?;
        rules.distrust.identities = tokens.identities();
        (rules.kind_of, rules.kinds) = http::kinds(flow);
    }
    Ok((tokens, policy))
}

/// The rules of a workflow that trusts its workers.
fn make_rules(
    settings: &Settings,
    flow: &Flow,
    jobs: &Jobs,
    format: Format,
) -> Result<Rules, Failure> {
    let flags = &settings.flags;
    let wishes = Wishes {
        retries: flags.retries,
        failures: flags.max_failures,
        pools: settings.pools.clone(),
        memory: None,
        labels: None,
    };
    let mut rules = rules_for(flow, &wishes, jobs, format)?;
    // Seconds of people, microseconds of the engine.
    rules.silence = Span(settings.silence.as_micros() as u64);
    rules.losses = flags.losses;
    rules.copies = http::copies(flow);
    Ok(rules)
}

/// Who looks for orders while tasks are served.
fn lookout(settings: &Settings, flow: &Arc<Flow>) -> Lookout {
    let (flags, workers) = (&settings.flags, settings.workers.clone());
    let state = states::of_file(&settings.input.file).ok();
    Lookout::new(flow, flags.policy, workers, &flags.times, state)
}

/// What there is to say of the disk while tasks are served.
fn tell(news: &DiskNews<'_>, out: &Output) {
    match news {
        DiskNews::HeldBack { missing, usage } => out.remark(&on_disk::held_back(*missing, usage)),
        DiskNews::GoesOn => out.remark(on_disk::GOES_ON),
        DiskNews::NotDeleted(path, why) => {
            out.complain(&on_disk::not_deleted(path, why));
        }
    }
}

fn book(flags: &cli::Serve) -> BookFile {
    let usual = || flags.state.join("book.json");
    BookFile::new(flags.book.clone().unwrap_or_else(usual))
}

fn no_book(error: &BookError) -> Failure {
    let cure = match error {
        BookError::Unread { .. } => "give another file with --book",
        BookError::Strange(_) => "delete it, or give another with --book",
    };
    Failure::of(error, cure)
}

/// What is known of times and speeds before the first task, and whether tasks go by it.
fn watch(flags: &cli::Serve, flow: &Flow, say: &dyn Fn(&str)) -> Result<Beforehand, Failure> {
    let dag = flow.dag();
    let memory = book(flags).read().map_err(|e| no_book(&e))?;
    if memory.spoilt() > 0 {
        let lines = counted(memory.spoilt(), "line");
        say(&format!(
            "left out of the book of times and speeds: {lines} that cannot be true"
        ));
    }
    let seconds: Vec<Option<f64>> = dag.tasks().map(|t| flow.seconds(t)).collect();
    let placing = match flags.dispatch {
        Some(cli::DispatchRule::Plain) => Placing::ByOrder,
        Some(cli::DispatchRule::Aware) => Placing::BySpeed,
        None => Placing::usual(&seconds),
    };
    let (kind, kinds) = http::kinds(flow);
    Ok(Beforehand {
        expected: Expected {
            seconds,
            kind,
            kinds,
        },
        memory,
        placing,
    })
}

/// What is executed again, by name and with the reason, where there are not too many.
fn told_again(flow: &Flow, again: &[(TaskId, WhyAgain)]) -> Vec<String> {
    // Chosen by eye, as in `run`.
    const SHOWN: usize = 10;
    let line = |&(task, why): &(TaskId, WhyAgain)| {
        let name = flow.shown(task);
        format!("{} is executed again: {}", plain(&name), why.words())
    };
    let mut lines: Vec<String> = again.iter().take(SHOWN).map(line).collect();
    if again.len() > SHOWN {
        lines.push(format!("and {} more", again.len() - SHOWN));
    }
    lines
}

/// What volunteers may have here that is not validated. Together, where nobody says, half of what is free.
fn allowed(settings: &Settings, volunteers: u32) -> Allowed {
    let free = || cairn_serve::free_bytes(&settings.flags.state).map_or(NO_LIMIT, |free| free / 2);
    Allowed {
        each: settings.uploads.0,
        all: settings.uploads.1.unwrap_or_else(free),
        among: volunteers,
    }
}

/// What a server has beside the run.
struct Server {
    tokens: Tokens,
    book: Option<BookFile>,
    sight: Arc<dyn http::Sight>,
}

/// Serves what has begun until its end. `listening` is called when everybody was told where.
fn serve<P: Position + Send>(
    settings: &Settings,
    begun: Begun<'_, P>,
    store: Store,
    tasks: Arc<dyn Tasks>,
    with: Server,
    out: &Output,
    listening: impl FnOnce(&Handle),
) -> Result<(), Failure> {
    let flags = &settings.flags;
    let folder = std::env::current_dir().map_err(|e| Failure::writing("this folder", &e))?;
    let volunteers = with.tokens.volunteers();
    let mut server = http::Settings::new(flags.listen, with.tokens, flags.state.clone(), folder);
    server.certificate = certificate(settings)?;
    server.sight = Some(with.sight);
    server.stays = flags.stay;
    server.largest_file = settings.largest_file;
    server.allowed = allowed(settings, volunteers);
    server.book = with.book;
    let fingerprint = server.certificate.as_ref().map(Certificate::fingerprint);
    let ended = http::serve(begun, store, tasks, server, |handle| {
        let (url, place) = (handle.url(), flags.state.join("tokens"));
        Output::say(&format!(
            "listening on {url}, tokens in {}\n",
            place.display()
        ));
        if let Some(fingerprint) = fingerprint {
            Output::say(&format!("fingerprint {fingerprint}\n"));
        }
        watch_interrupts(handle.clone());
        listening(handle);
    });
    match ended.map_err(|error| match error {
        ServeError::Clear(_) => in_clear(&error),
        error => unusable(&error),
    })? {
        ServerEnd::Executed => {
            let value = json!({ "done": true, "failed": false });
            out.done(&value, "all tasks are executed\n")
        }
        ServerEnd::Failed => {
            let text = "some tasks failed or were given up: `cairn export` tells which\n";
            out.done(&json!({ "done": true, "failed": true }), text)?;
            Err(Failure::No)
        }
        ServerEnd::Stuck(missing) => {
            let text = format!("{}\n", on_disk::stuck(missing));
            out.done(&json!({ "done": false, "missing_bytes": missing }), &text)?;
            Err(Failure::No)
        }
        ServerEnd::Stopped => {
            out.remark("stopped: the same command goes on");
            Err(Failure::Code(INTERRUPTED_CODE))
        }
    }
}

/// Tokens that survive restarts: hashes in the store, the tokens themselves in three files.
fn tokens(settings: &Settings, store: &mut Store) -> Result<Tokens, Failure> {
    let kept = kept::tokens(store)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let folder = settings.flags.state.join("tokens");
    let replace = settings.flags.security.rotate_tokens;
    let life = settings.token_lifetime;
    let count = settings.flags.volunteers;
    let tokens = Tokens::open(&folder, kept.clone(), replace, life, now);
    let mut tokens = tokens.map_err(|e| Failure::writing(&folder.display().to_string(), &e))?;
    // Whoever shared them once does so at every start, or all volunteers would be others.
    let before = kept.as_ref().and_then(|kept| kept.shared());
    let asked = settings.flags.volunteer_tokens.as_deref();
    // By the folder itself: the same one may be named by another path.
    let is_other = |asked: &Path| asked.canonicalize().ok().as_deref() != before;
    if asked.is_some_and(is_other) && kept.as_ref().is_some_and(|kept| kept.volunteers() > 0) {
        // By number the engine knows them: whoever has the same number there would inherit what is known of them.
        return Err(Failure::usage(
            "the volunteers of this state have their tokens elsewhere",
            "leave --volunteer-tokens out, or begin with another --state",
        ));
    }
    let shared = asked.or(before);
    let place = shared.unwrap_or(&folder);
    let seen = shared.map_or(Ok(()), |shared| tokens.share(shared));
    let adopts = shared.is_some() && !replace;
    seen.and_then(|()| tokens.see_to_volunteers(place, adopts, count, life, now))
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => Failure::of(
                &format!("in {}: {e}", place.display()),
                "delete that file: a new token is made",
            ),
            _ => Failure::writing(&place.display().to_string(), &e),
        })?;
    if kept.as_ref() != Some(&tokens) {
        kept::keep_tokens(&tokens, store)?;
    }
    Ok(tokens)
}

/// The certificate that the flags name. Loaded with the flags: a wrong path is told before a state is begun.
fn given_certificate(flags: &cli::Serve) -> Result<Option<Certificate>, Failure> {
    let files = flags
        .security
        .cert
        .as_ref()
        .zip(flags.security.key.as_ref());
    let loaded = files.map(|(certificate, key)| Certificate::load(certificate, key));
    loaded.transpose().map_err(|e| no_certificate(&e))
}

/// The certificate to serve with, if any.
fn certificate(settings: &Settings) -> Result<Option<Certificate>, Failure> {
    let flags = &settings.flags;
    if settings.certificate.is_some() || !flags.security.tls {
        return Ok(settings.certificate.clone());
    }
    // Both, since workers here and elsewhere call it by different names.
    let names = ["localhost".to_owned(), flags.listen.ip().to_string()];
    let made = Certificate::self_signed(&flags.state.join("tls"), &names);
    made.map(Some).map_err(|e| no_certificate(&e))
}

fn no_certificate(error: &TlsError) -> Failure {
    let cure = "give a certificate and its key in PEM files, or --tls to have one made";
    Failure::of(error, cure)
}

/// Ends the server at the first Ctrl-C or SIGTERM.
fn watch_interrupts(handle: Handle) {
    std::thread::spawn(move || {
        while !limits::is_interrupted() {
            // What people take for at once.
            std::thread::sleep(Duration::from_millis(50));
        }
        handle.stop();
    });
}

/// Brings better orders to the server, which hands out tasks by the quick one until the first is found; then those that a
/// lookout finds later, until it is told that all is over.
fn bring(
    found: Option<Receiver<Found>>,
    handle: Handle,
    out: Output,
    later: Option<(Lookout, Arc<AtomicBool>)>,
) {
    std::thread::spawn(move || {
        let mut tell = |found: Found| {
            if found.about.settled {
                out.remark(&format!("order: {}", plain(&found.about.words())));
            }
            handle.reorder(found);
        };
        found.into_iter().flatten().for_each(&mut tell);
        if let Some((lookout, is_over)) = later {
            lookout.keep_looking(&handle, &is_over, &mut tell);
        }
    });
}
