//! What comes with returns: files are brought beside their places, or held until others say the same; then the desk decides, and what
//! has no use any more goes. Decides nothing.

use super::{beside, for_long, held};
use crate::http::desk::{Answer, Ask, Handed, Held};
use crate::http::fault::{Fault, Reply};
use crate::http::files::is_digest;
use crate::http::types::{Attempt, Made, Return, Worth};
use crate::http::{Shared, logs, volunteers};
use crate::tokens::Who;
use cairn_engine::{Cause, Outcome, Task, WorkerId};
use std::collections::HashSet;
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// A request of a worker, beside what it returns.
pub(super) struct Asked {
    pub(super) who: Who,
    pub(super) worker: WorkerId,
    pub(super) holding: Option<Vec<Held>>,
    pub(super) want: usize,
    pub(super) wait: Duration,
}

/// Whether files or a log belong to it that must be looked at.
fn carries(server: &Shared, who: Who, back: &Return) -> bool {
    let (task, token) = of(back);
    let left = || server.tasks.makes_files(task) || server.logs.bytes(task, token) > 0;
    !back.outputs.is_empty() || who != Who::Trusted && left()
}

/// A return that carries nothing. That a volunteer's task printed nothing is a result like any other.
fn bare(who: Who, back: &Return) -> Handed {
    let mut handed = Handed::bare(of(back), back.outcome());
    if who != Who::Trusted && handed.outcome == Outcome::Executed {
        handed.digest = Some(volunteers::of_print(&[]));
    }
    handed
}

fn of(back: &Return) -> Held {
    held(Attempt {
        id: back.id,
        epoch: back.epoch,
        attempt: back.attempt,
    })
}

/// Takes what is returned, and asks the desk.
pub(super) async fn exchange(
    server: &Arc<Shared>,
    asked: Asked,
    returns: Vec<Return>,
) -> Reply<Answer> {
    let who = asked.who;
    let carried = returns.iter().map(|back| carries(server, who, back));
    let carried: Vec<bool> = carried.collect();
    if !carried.contains(&true) {
        let bare = returns.iter().map(|back| bare(who, back));
        return decided(server, &asked, bare.collect()).await;
    }
    // Large files may take longer than a worker waits for an answer. What was begun is done all the same: then it hears the
    // answer when it asks again.
    let server = server.clone();
    // If the worker hangs up this future is dropped, and with it the one end: the other one sees it.
    let (_listens, gone) = oneshot::channel();
    let work = tokio::spawn(async move { taken(&server, asked, (returns, carried), gone).await });
    work.await.map_err(|_| Fault::ending())?
}

/// Takes what is returned with its files, alone for each attempt. Whoever has `gone` gets nothing new.
async fn taken(
    server: &Arc<Shared>,
    mut asked: Asked,
    (returns, carried): (Vec<Return>, Vec<bool>),
    mut gone: oneshot::Receiver<()>,
) -> Reply<Answer> {
    let who = asked.who;
    let each = returns.iter().zip(&carried);
    let carried_ones = each.filter(|&(_, is_carried)| *is_carried);
    let lanes = carried_ones.map(|(back, _)| (who, of(back).0, of(back).1));
    let _alone = tokio::select! {
        alone = server.lanes.enter(lanes.collect()) => alone,
        _ = &mut gone => return Err(Fault::ending()),
    };
    let mut uploads: Vec<Vec<String>> = Vec::with_capacity(returns.len());
    let mut all = Vec::with_capacity(returns.len());
    for (back, is_carried) in returns.into_iter().zip(carried) {
        let digests = back.outputs.iter().map(|made| made.digest.clone());
        uploads.push(digests.collect());
        all.push(match is_carried {
            true => brought(server, &asked, back).await?,
            false => bare(who, &back),
        });
    }
    if gone.try_recv() == Err(TryRecvError::Closed) {
        // Nobody would hear of what is leased. And what it said to have may be old by now: an attempt
        // that it got since would look unheard of.
        (asked.want, asked.holding) = (0, None);
    }
    // Only a volunteer's return has its digest from what was held with it.
    let is_held =
        |h: &Handed| who != Who::Trusted && h.digest.is_some() && server.tasks.makes_files(h.task);
    let held = |h: &Handed| is_held(h).then_some((h.task, h.token));
    let held: Vec<Option<Held>> = all.iter().map(held).collect();
    let answer = decided(server, &asked, all).await?;
    let files = server.files.clone();
    let receipts = answer.receipts.clone();
    beside(move || {
        for ((receipt, digests), held) in receipts.iter().zip(uploads).zip(held) {
            // It returns these again: what was uploaded must still be there then.
            if matches!(receipt, Worth::OutputMissing | Worth::Unknown) {
                continue;
            }
            digests.iter().for_each(|digest| files.forget(who, digest));
            let counts = matches!(receipt, Worth::Accepted | Worth::AcceptedLate);
            // This very request held it, while the attempt had no result: nobody waits for it.
            if let Some((task, token)) = held.filter(|_| !counts) {
                files.forget_held_of(task, token);
            }
        }
    })
    .await?;
    Ok(answer)
}

/// What the desk says. Where a task is done as some volunteer's attempt has it, those files are brought beside their places first.
async fn decided(server: &Arc<Shared>, asked: &Asked, mut returns: Vec<Handed>) -> Reply<Answer> {
    loop {
        let answer = server.ask(|reply| Ask::Exchange {
            who: asked.who,
            worker: asked.worker,
            returns,
            holding: asked.holding.clone(),
            want: asked.want,
            wait: asked.wait,
            reply,
        });
        let answer = answer.await?;
        if answer.again.is_empty() {
            return Ok(answer);
        }
        // Others may have decided it meanwhile, with other files: then it goes round once more.
        returns = answer.again;
        for handed in &mut returns {
            release(server, handed).await?;
        }
    }
}

/// Brings what the winner made beside its places; or what this attempt made, which is the same.
async fn release(server: &Arc<Shared>, handed: &mut Handed) -> Reply<()> {
    let Some(winner) = handed.winner.filter(|_| handed.winner != handed.released) else {
        return Ok(());
    };
    let (task, own, files) = (handed.task, handed.token, server.files.clone());
    let release = move || {
        let released = files.release(task, winner);
        // The two have one digest, so that their files are equal: whichever is still here will do.
        let released = released.or_else(|_| files.release(task, own));
        if released.as_ref().is_err_and(is_gone) {
            files.forget_held_of(task, own);
        }
        released
    };
    handed.released = Some(winner);
    match for_long(server, release).await? {
        Ok(staged) => handed.staged = staged,
        Err(e) if is_gone(&e) => handed.lacks_output = true,
        Err(e) => return Err(Fault::disk(&e)),
    }
    Ok(())
}

/// Whether what was uploaded must be uploaded again.
fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData)
}

/// Whether the task declares these files, each once.
fn check(task: Task, declared: &[String], made: &[Made]) -> Reply<()> {
    let declared: HashSet<&str> = declared.iter().map(String::as_str).collect();
    let mut seen = HashSet::new();
    for Made { path, digest, .. } in made {
        if !declared.contains(path.as_str()) || !is_digest(digest) || !seen.insert(path) {
            return Err(Fault::bad(
                format!(
                    "task {} does not declare the output '{}', or it is named twice",
                    task.0,
                    cairn_dag::plain(path)
                ),
                "return the files that the lease lists under outputs, with BLAKE3 digests of 64 small hexadecimal digits",
            ));
        }
    }
    Ok(())
}

/// A return with its files beside their places, or held, where it may count.
async fn brought(server: &Arc<Shared>, asked: &Asked, back: Return) -> Reply<Handed> {
    let (who, (task, token)) = (asked.who, of(&back));
    let mut handed = Handed::bare((task, token), back.outcome());
    let declared = server.tasks.job(task, back.attempt).unwrap_or_default();
    let declared = declared.outputs;
    let made = back.outputs;
    check(task, &declared, &made)?;
    let counts = |reply| Ask::Counts(who, Some(asked.worker), (task, token), reply);
    // Asked before anything is moved: what does not count stays an upload. The desk asks once more, since
    // others may be first meanwhile.
    if handed.outcome != Outcome::Executed || !server.ask(counts).await? {
        return Ok(handed);
    }
    if is_refused(server, (task, token), &made).await? {
        // A failure, and no file that is missing: however often it were uploaded again, it could not take
        // its place.
        handed.outcome = Outcome::Failed {
            exit: 0,
            cause: Cause::Output,
        };
        return Ok(handed);
    }
    let is_all = declared.iter().all(|d| made.iter().any(|m| m.path == *d));
    match who {
        Who::Trusted => stage(server, &mut handed, made, is_all).await?,
        // Without all of its outputs a volunteer's return has no digest, and has failed.
        Who::Volunteer(_) if is_all => hold(server, who, &mut handed, made).await?,
        Who::Volunteer(_) => (),
    }
    Ok(handed)
}

/// Whether a file cannot take its place, whatever is done: below a link, or where a folder is. The log of the attempt says why.
async fn is_refused(server: &Arc<Shared>, (task, token): Held, made: &[Made]) -> Reply<bool> {
    let paths: Vec<String> = made.iter().map(|made| made.path.clone()).collect();
    let server = server.clone();
    beside(move || {
        let refused = paths
            .iter()
            .find_map(|path| server.files.may_take(path).err());
        let Some(why) = refused.filter(|e| e.kind() == ErrorKind::InvalidInput) else {
            return false;
        };
        let line =
            format!("{why}: declare outputs below the folder of the workflow, through no link");
        // Without the line it is refused all the same.
        let _ = server.logs.note(task, token, &line);
        true
    })
    .await
}

async fn stage(
    server: &Arc<Shared>,
    handed: &mut Handed,
    made: Vec<Made>,
    is_all: bool,
) -> Reply<()> {
    handed.digest = is_all.then(|| volunteers::of_outputs(&made));
    let files = server.files.clone();
    match for_long(server, move || files.stage(Who::Trusted, &made)).await? {
        Ok(staged) => handed.staged = staged,
        Err(e) if is_gone(&e) => handed.lacks_output = true,
        Err(e) => return Err(Fault::disk(&e)),
    }
    Ok(())
}

/// What a volunteer returns, kept until others say the same, with the digest of the bytes that are here.
async fn hold(server: &Arc<Shared>, who: Who, handed: &mut Handed, made: Vec<Made>) -> Reply<()> {
    let (task, token) = (handed.task, handed.token);
    let keeper = server.clone();
    let hold = move || {
        if made.is_empty() {
            let printed = keeper.logs.read(task, Some(token), logs::LONGEST);
            return Ok(volunteers::of_print(&printed.unwrap_or_default()));
        }
        keeper.files.hold(who, task, token, &made)?;
        Ok(volunteers::of_outputs(&made))
    };
    match for_long(server, hold).await? {
        Ok(digest) => handed.digest = Some(digest),
        Err(e) if is_gone(&e) => handed.lacks_output = true,
        Err(e) => return Err(Fault::disk(&e)),
    }
    Ok(())
}
