//! Many short tasks in one job: a server and workers of our own inside of one allocation. Knows their command lines, and not
//! what they do.

use crate::script::quoted;

/// What the job is made of; all of it text for a script.
#[derive(Clone, Debug)]
pub struct Crew<'a> {
    /// The program that serves and works.
    pub program: &'a str,
    /// What comes behind `serve`: the workflow and how to run it.
    pub serve: &'a [String],
    /// The folder where tasks run.
    pub home: &'a str,
    /// The folder for the state of the run, beneath which the server keeps its own.
    pub state: &'a str,
    /// How many workers.
    pub workers: u32,
}

/// The batch script. Submitting it again goes on where it stopped.
pub fn crew(crew: &Crew<'_>) -> String {
    let words: Vec<String> = crew
        .serve
        .iter()
        .map(|word| quoted(word).into_owned())
        .collect();
    SCRIPT
        .replace("@PROGRAM@", &quoted(crew.program))
        .replace("@HOME@", &quoted(crew.home))
        .replace("@STATE@", &quoted(crew.state))
        .replace("@WORKERS@", &crew.workers.to_string())
        .replace("@SERVE@", &words.join(" "))
}

const SCRIPT: &str = r#"#!/bin/sh
# A server and its workers inside of one allocation, made by `cairn submit`. Submitted again it goes on where it stopped.
state=@STATE@
cd @HOME@ || exit 126
mkdir -p "$state/server" || exit 1
log=$state/serve.log
: > "$log"
@PROGRAM@ serve @SERVE@ --state "$state/server" --listen 0.0.0.0:0 --tls 2> "$log" &
server=$!
until grep -q '^fingerprint ' "$log"; do
  if ! kill -0 "$server" 2> /dev/null; then
    cat "$log" >&2
    wait "$server"
    exit $?
  fi
  sleep 0.2
done
port=$(sed -n 's/^listening on [^,]*:\([0-9]*\),.*/\1/p' "$log")
fingerprint=$(sed -n 's/^fingerprint //p' "$log")
srun --ntasks=@WORKERS@ @PROGRAM@ work "https://$(hostname):$port" --fingerprint "$fingerprint" \
  --token-file "$state/server/tokens/worker" --shared @HOME@ --no-sandbox -j "${SLURM_CPUS_PER_TASK:-1}" &
crew=$!
wait "$server"
code=$?
cat "$log" >&2
wait "$crew"
exit "$code"
"#;
