//! Pegasus: a workflow in its YAML whose jobs carry DAGMan's priority. Knows no site and no data: tasks run where the
//! submit host sees their folder.

use crate::handover::{children, tag};
use crate::program::string;
use crate::script::text;
use crate::{Handover, Made};
use cairn_dag::{plain, wide};
use std::path::Path;

/// `workflow.yml`, and the scripts.
pub(crate) fn files(handover: &Handover, folder: &Path) -> Vec<Made> {
    let mut files = vec![Made::new("workflow.yml", workflow(handover, folder))];
    files.extend(handover.scripts(|task| task.tries().0));
    files
}

/// YAML takes JSON's strings.
fn workflow(handover: &Handover, folder: &Path) -> String {
    let folder = text(folder).unwrap_or_default();
    let id = |place: u32| string(&tag(place, &handover.tasks[wide(place)].name));
    // Pegasus takes neither blanks nor slashes in the name of a workflow.
    let name = tag(0, &handover.name);
    let name = name.trim_start_matches("t0-");
    let mut text = format!(
        "# Made by `cairn submit`: dagman PRIORITY is the plan's order, larger first.\npegasus: \"5.0\"\nname: {}\n\
         transformationCatalog:\n  transformations:\n  - name: \"sh\"\n    sites:\n    - name: \"local\"\n      \
         pfn: \"/bin/sh\"\n      type: \"installed\"\njobs:\n",
        string(name)
    );
    for (place, task) in handover.placed() {
        text += &format!(
            "- type: \"job\"\n  name: \"sh\"\n  id: {}\n  nodeLabel: {}\n  arguments: [{}]\n  uses: []\n  profiles:\n    \
             dagman: {{PRIORITY: {}",
            id(place),
            string(&plain(&task.name)),
            string(&format!("{folder}/tasks/{place}.sh")),
            handover.priority(place),
        );
        let (_, retries) = task.tries();
        if retries > 0 {
            text += &format!(", RETRY: {retries}");
        }
        text += "}\n";
        // Pegasus counts in megabytes, and takes 0 for nothing at all.
        let megabytes = task.memory.map(|bytes| bytes.div_ceil(1_000_000).max(1));
        let pegasus = [("cores", task.cpus.map(u64::from)), ("memory", megabytes)];
        let pegasus: Vec<String> = (pegasus.iter())
            .filter_map(|(key, value)| Some(format!("{key}: {}", (*value)?)))
            .collect();
        if !pegasus.is_empty() {
            text += &format!("    pegasus: {{{}}}\n", pegasus.join(", "));
        }
    }
    let children = children(&handover.tasks);
    let is_empty = children.items().is_empty();
    text += if is_empty {
        "jobDependencies: []\n"
    } else {
        "jobDependencies:\n"
    };
    for (place, children) in (0u32..).zip(children.iter()).filter(|(_, c)| !c.is_empty()) {
        let children: Vec<String> = children.iter().map(|&child| id(child)).collect();
        let (own, children) = (id(place), children.join(", "));
        text += &format!("- id: {own}\n  children: [{children}]\n");
    }
    text
}
