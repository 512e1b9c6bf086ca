// What the server tells the page: the same shapes as crates/cairn-serve/src/live/told.rs. No logic.

/** The states of a task, in the order in which counts come. */
export const STATES = ["waiting", "eligible", "leased", "executed", "failed", "aborted", "cancelled"] as const;
export type State = (typeof STATES)[number];

/** What people read. */
export const WORDS: Record<State, string> = {
  waiting: "waiting",
  eligible: "eligible",
  leased: "running",
  executed: "executed",
  failed: "failed",
  aborted: "aborted",
  cancelled: "cancelled",
};

/** What does not change while the run goes on. */
export interface Scene {
  title: string;
  /** None where there is no end of them. */
  tasks: number | null;
  map: DagMap | null;
}

/** The dag as boxes; each task is in one. */
export interface DagMap {
  svg: string;
  /** How many tasks each box stands for. */
  sizes: number[];
  /** The number of one of them. */
  first: number[];
}

/** What the order in force should give: pairs of executed and eligible tasks. */
export interface Plan {
  order: number;
  profile: [number, number][];
  /** No order has more eligible tasks at any step: a certified bound, where it is known. */
  bound: [number, number][] | null;
  verdict: string | null;
}

/** executed, seconds since 1970, eligible (running ones included), running */
export type Sample = [number, number, number, number];
/** worker, task, begin, end, how it ended (an index into OUTCOMES) */
export type Span = [number, number, number, number, number];
/** worker, task, begin */
export type Running = [number, number, number];
export const OUTCOMES = ["executed", "failed", "lost", "given back"] as const;

/** Seconds of processors: at work, and why not. */
export interface Idle {
  busy: number;
  nothing_eligible: number;
  resources: number;
  server: number;
  paused: number;
}

export interface Worker extends Idle {
  worker: number;
  name: string;
  state: "here" | "left" | "lost";
  cpus: number;
  leased: number;
  executed: number;
  failed: number;
  lost: number;
  /** Seconds since 1970; none where nobody listens any more. */
  last_seen: number | null;
  tags: string[];
  /** Beside the others. */
  speed: number | null;
  /** Mean seconds from lease to return. */
  turnaround: number | null;
  /** The share of its leases that it is expected to return well. */
  reliability: number | null;
  /** The number of its token, where nobody vouches for it. */
  volunteer: number | null;
  trust: Trust | null;
}

/** What came of a volunteer's results. */
export interface Trust {
  /** Others confirmed them, or they counted. */
  valid: number;
  /** Others contradicted them. */
  invalid: number;
  errors: number;
  late: number;
}

export interface Failure {
  id: number;
  task: string;
  attempt: number;
  at: number;
  worker: string;
  cause: string;
  exit: number | null;
  for_good: boolean;
  /** The end of what it printed, in saved reports. */
  log?: string;
}

export interface Slow {
  id: number;
  task: string;
  seconds: number;
  running: boolean;
}

/** A task on the path that decided how long it took, and how long it was eligible before it began. */
export interface Step {
  id: number;
  task: string;
  waited: number;
  seconds: number;
}

/** Bytes on the disk. */
export interface Storage {
  used: number;
  cap: number;
  /** Kept for tasks that run. */
  reserved: number;
  /** The most there ever was, reserved bytes included, where that is known. */
  peak?: number | null;
}

/** All of it, or what has changed: then lists marked + are appended, others replace what was. */
export interface Update {
  now: number;
  seq: number;
  began: number | null;
  counts: (number | null)[];
  paused: boolean;
  finished: boolean;
  halted?: number;
  rate: number | null;
  eta_seconds: number | null;
  idle: Idle;
  running: Running[];
  /** + */
  curve: Sample[];
  /** + */
  spans: Span[];
  /** Box, and its counts by state; those that changed. */
  boxes: number[][];
  workers?: Worker[];
  workers_in_all?: number;
  failures?: Failure[];
  failures_in_all?: number;
  slowest?: Slow[];
  path?: Step[];
  storage?: Storage;
}

export interface Attempt {
  attempt: number;
  epoch: number;
  worker: string;
  begin: number;
  end: number | null;
  outcome: string;
  exit: number | null;
  cause: string | null;
}

export interface TaskStatus {
  id: number;
  task: string;
  state: State;
  run?: string;
  worker?: string;
  since?: number;
}

export interface Reason {
  kind: string;
  text: string;
  tasks?: string[];
}

export interface Why {
  task?: string;
  worker?: string;
  state: string;
  answer: string;
  reasons: Reason[];
}

/** A saved report: the same, without a server. */
export interface Saved {
  made: number;
  scene: Scene;
  plan: Plan | null;
  update: Update;
  names: string[] | null;
}
