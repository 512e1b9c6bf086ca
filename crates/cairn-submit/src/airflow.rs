//! Airflow: a file for the folder of dags, with absolute priority weights. Knows no scheduler.

use crate::handover::tag;
use crate::program::{filled, string};
use crate::{Handover, Made};
use cairn_dag::plain;

/// `workflow.py`.
pub(crate) fn files(handover: &Handover) -> Vec<Made> {
    let mut rows = String::new();
    for (place, task) in handover.placed() {
        // Airflow takes ASCII letters, digits, dashes, dots and underscores; people see the name.
        let id = string(&tag(place, &task.name));
        let (script, retries) = task.tries();
        let (name, script, parents) = (string(&plain(&task.name)), string(script), &task.parents);
        rows += &format!("    ({id}, {name}, {script}, {parents:?}, {retries}),\n");
    }
    // The same letters as for tasks, without the number: a folder of dags has one name a file.
    let dag = tag(0, &handover.name);
    let dag = string(dag.trim_start_matches("t0-"));
    let name = plain(&handover.name);
    let parts = [("@NAME@", &*name), ("@DAG@", &dag), ("@TASKS@", &rows)];
    vec![Made::new("workflow.py", filled(PROGRAM, &parts))]
}

const PROGRAM: &str = r#"# @NAME@ for Airflow 3, made by `cairn submit`: put it into the folder of dags, then trigger it.
# weight_rule="absolute" takes priority_weight as it is: of tasks that may start, the scheduler queues larger ones first.
import subprocess

from airflow.sdk import DAG
from airflow.providers.standard.operators.python import PythonOperator

# Id, name, script, tasks that come before (by number), retries; in the order of the plan.
TASKS = [
@TASKS@]


def run(script):
    subprocess.run(["/bin/sh", "-c", script], check=True)


with DAG(dag_id=@DAG@, schedule=None, catchup=False) as dag:
    operators = []
    for place, (task_id, name, script, after, retries) in enumerate(TASKS):
        operator = PythonOperator(
            task_id=task_id,
            task_display_name=name,
            python_callable=run,
            # Not rendered as a template: it goes as it is.
            op_kwargs={"script": script},
            retries=retries,
            priority_weight=len(TASKS) - place,
            weight_rule="absolute",
        )
        for parent in after:
            operators[parent] >> operator
        operators.append(operator)
"#;
