-- What happened, in causal order. Every prefix is closed under parents.
CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,      -- microseconds since 1970
  kind TEXT NOT NULL,
  task INTEGER,             -- its number in the flow that the event belongs to
  epoch INTEGER,            -- with attempt: the token, which never comes again
  attempt INTEGER,
  worker INTEGER,
  exit INTEGER,             -- exit code, or number of a signal
  cause TEXT,
  for_good INTEGER,         -- 1: given up
  info                      -- of 'joined': what the worker said, as JSON; of 'ordered': the number of the plan
);
-- The flows that the run was given, one after the other. Events with seq >= first are about the newest such one.
CREATE TABLE flow (
  number INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  tasks INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  names BLOB NOT NULL,        -- JSON list of names, by task; zstd
  fingerprints BLOB NOT NULL  -- 8 bytes a task; zstd
);
-- The orders that were in force: tasks from first to last, 4 bytes each; zstd.
CREATE TABLE plan (number INTEGER PRIMARY KEY, tasks BLOB NOT NULL);
-- What the events up to seq come to: JSON; zstd.
CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, state BLOB NOT NULL);
-- Digests of the declared files of executed tasks.
CREATE TABLE stamp (task INTEGER PRIMARY KEY, inputs INTEGER NOT NULL, outputs INTEGER NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- For people.
CREATE VIEW history AS
  SELECT seq, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS time, kind, task, epoch, attempt, worker, exit, cause,
         for_good, info
  FROM event;
