//! Families that are never written down, as `run` and `serve` take them: which one, and what its tasks run. Runs nothing.

use crate::cli;
use crate::failure::Failure;
use cairn_dag::plain;
use cairn_engine::{Shape, Task};
use cairn_formats::{Job, Run, Template};
use cairn_theory::families::{
    EvolvingMesh, Family, FamilyError, Fft, OutTree, ReductionMesh, ReductionTree,
};

/// What stands for a task in the command of a family.
const KEYS: [&str; 3] = ["level", "index", "name"];

/// A family that somebody asked for, checked, and what is run for its tasks.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Its name in full: what a state is of.
    pub(super) name: String,
    kind: Kind,
    /// Whether it is the beginning of a mesh without end.
    is_beginning: bool,
    template: Template,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Mesh(EvolvingMesh),
    ReductionMesh(ReductionMesh),
    Tree(ReductionTree),
    OutTree(OutTree),
    Fft(Fft),
}

impl Wanted {
    /// What `--family`, `--until-level` and `--run` ask for.
    pub(super) fn new(
        flags: &cli::Workflow,
        template: Option<&Template>,
    ) -> Result<Option<Wanted>, Failure> {
        let (Some(text), Some(template)) = (&flags.family, template) else {
            return Ok(None);
        };
        let until_level = flags.until_level;
        if let Some(key) = template.keys().find(|key| !KEYS.contains(key)) {
            return Err(Failure::usage(
                format!("--run: nobody knows {{{}}} here", plain(key)),
                "a family has {level}, {index} and {name}; {{ is a brace",
            ));
        }
        let wrong = |why: &str| {
            Failure::usage(
                format!("--family {}: {why}", plain(text)),
                "such as --family mesh:1000, mesh --until-level 1000, rmesh:100, tree:20, outtree:20:3 or fft:10",
            )
        };
        let mut parts = text.split(':');
        let word = parts.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = parts.map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong("behind the colon a number is wanted"))?;
        let kind = match (word, &numbers[..], until_level) {
            // A beginning of the endless one and a mesh of its own are the same dag, under different names in a state.
            ("mesh", [], Some(levels)) | ("mesh", &[levels], None) if levels > 0 => {
                EvolvingMesh::with_levels(levels).map(Kind::Mesh)
            }
            ("mesh", [], None) => {
                return Err(wrong("a mesh without end needs --until-level"));
            }
            (_, _, Some(_)) => {
                return Err(wrong("only a mesh without end takes --until-level"));
            }
            ("rmesh", [levels], None) if *levels > 0 => {
                ReductionMesh::with_levels(*levels).map(Kind::ReductionMesh)
            }
            ("tree", [height], None) => ReductionTree::new(2, *height).map(Kind::Tree),
            ("tree", [height, arity], None) => ReductionTree::new(*arity, *height).map(Kind::Tree),
            ("outtree", [height], None) => OutTree::new(2, *height).map(Kind::OutTree),
            ("outtree", [height, arity], None) => OutTree::new(*arity, *height).map(Kind::OutTree),
            ("fft", [dimension], None) => Fft::new(*dimension).map(Kind::Fft),
            _ => return Err(wrong("no such family, or not with such numbers")),
        };
        let kind = kind.map_err(|e: FamilyError| wrong(&e.to_string()))?;
        let name = match until_level {
            Some(levels) => format!("mesh:{levels}"),
            None => text.clone(),
        };
        Ok(Some(Wanted {
            name,
            kind,
            is_beginning: until_level.is_some(),
            template: template.clone(),
        }))
    }

    pub(super) fn shape(&self) -> Box<dyn Shape> {
        match self.kind {
            Kind::Mesh(family) => Box::new(family),
            Kind::ReductionMesh(family) => Box::new(family),
            Kind::Tree(family) => Box::new(family),
            Kind::OutTree(family) => Box::new(family),
            Kind::Fft(family) => Box::new(family),
        }
    }

    /// The same with the end left open: its name, the family, and how many steps of it are wanted. More may be wanted later.
    pub(super) fn without_end(&self) -> (String, Box<dyn Shape>, Option<u64>) {
        match self.kind {
            Kind::Mesh(mesh) if self.is_beginning => {
                let endless = Box::new(EvolvingMesh::infinite());
                ("mesh".to_owned(), endless, mesh.task_count())
            }
            _ => (self.name.clone(), self.shape(), None),
        }
    }

    /// The task at a place: by its step, as the engine numbers tasks of a family.
    pub(super) fn find(&self, level: u64, index: u64) -> Option<Task> {
        fn step(family: &impl Family, level: u64, index: u64) -> Option<Task> {
            let task = family.find(level, index)?;
            Some(Task(family.step(task)))
        }
        match &self.kind {
            Kind::Mesh(family) => step(family, level, index),
            Kind::ReductionMesh(family) => step(family, level, index),
            Kind::Tree(family) => step(family, level, index),
            Kind::OutTree(family) => step(family, level, index),
            Kind::Fft(family) => step(family, level, index),
        }
    }

    /// The command of all tasks, as it was asked for.
    pub(super) fn line(&self) -> String {
        self.template.to_string()
    }

    /// What the task at a place runs.
    pub(super) fn command(&self, level: u64, index: u64) -> Run<'static> {
        let value = |key: &str| match key {
            "level" => Some(level.to_string()),
            "index" => Some(index.to_string()),
            "name" => Some(called(level, index)),
            _ => None,
        };
        Job::of_line(self.template.filled(value)).run
    }
}

/// What the task at a place is called.
pub(super) fn called(level: u64, index: u64) -> String {
    format!("{level}-{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every task is found at its place, and nothing anywhere else.
    #[test]
    fn tasks_are_found_by_their_places() {
        let template = Template::new("true").unwrap();
        for text in [
            "mesh:9",
            "rmesh:7",
            "tree:4",
            "tree:3:3",
            "outtree:5",
            "fft:4",
        ] {
            let flags = cli::Workflow {
                family: Some(text.to_owned()),
                ..cli::Workflow::default()
            };
            let wanted = Wanted::new(&flags, Some(&template));
            let wanted = wanted.unwrap_or_else(|_| panic!("{text}")).unwrap();
            let shape = wanted.shape();
            let tasks = shape.tasks().unwrap();
            for step in 0..tasks {
                let (level, index) = shape.place(step);
                assert_eq!(wanted.find(level, index), Some(Task(step)), "{text} {step}");
            }
            let places: std::collections::HashSet<_> = (0..tasks).map(|s| shape.place(s)).collect();
            for (level, index) in (0..12).flat_map(|l| (0..40).map(move |i| (l, i))) {
                let is_there = places.contains(&(level, index));
                assert_eq!(
                    wanted.find(level, index).is_some(),
                    is_there,
                    "{text} {level} {index}"
                );
            }
            assert_eq!(wanted.find(u64::MAX, u64::MAX), None);
        }
    }
}
