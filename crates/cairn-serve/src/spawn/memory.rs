//! What process groups have in memory, and what a thread of ours leaves to them. Knows no tasks.

use std::collections::HashMap;

/// Bytes in memory by process group, all its processes together. What they share counts for each.
pub(crate) fn group_memory() -> HashMap<u32, u64> {
    let page = page_size();
    let mut groups = HashMap::new();
    let Ok(all) = std::fs::read_dir("/proc") else {
        return groups;
    };
    // By group, not by parent: whose parent has ended is a child of the system's first process, but stays in its group.
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for pid in numbers {
        if let Some((group, pages)) = resident(pid) {
            *groups.entry(group).or_insert(0) += pages * page;
        }
    }
    groups
}

/// Bytes in a page, as the system told this process when it began.
fn page_size() -> u64 {
    // AT_PAGESZ of <elf.h>; the file has pairs of a key and a value.
    const PAGE_SIZE: u64 = 6;
    let told = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let (words, _) = told.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|w| u64::from_ne_bytes(*w)).collect();
    let (pairs, _) = words.as_chunks::<2>();
    let found = pairs.iter().find(|[key, _]| *key == PAGE_SIZE);
    found.map_or(4096, |[_, size]| *size)
}

/// The group of a process, and how many pages of it are in memory.
fn resident(pid: u32) -> Option<(u32, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything. Behind it: state, parent, group, …
    let (_, rest) = status.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let group = words.nth(2)?.parse().ok()?;
    // `nth` goes on behind the group, the fifth field of proc(5): the pages are the twenty-fourth.
    let pages = words.nth(18)?.parse().ok()?;
    Some((group, pages))
}

/// The thread that calls this works only where nothing else does.
pub fn step_back() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    // Niceness alone still takes a share, and a task that wakes up does not get this processor as if it were idle.
    // Where that is not allowed, it goes on as it is.
    let _ = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Min,
        ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This very process has as much as the system says elsewhere.
    #[test]
    fn the_memory_of_a_group_is_that_of_its_processes() {
        let held = vec![1u8; 64 << 20];
        let status = std::fs::read_to_string("/proc/self/stat").unwrap();
        let (_, rest) = status.rsplit_once(')').unwrap();
        let group: u32 = rest.split_whitespace().nth(2).unwrap().parse().unwrap();
        let found = group_memory()[&group];
        assert!(found > held.len() as u64, "{found}");
        let (_, pages) = resident(std::process::id()).unwrap();
        let printed = std::fs::read_to_string("/proc/self/statm").unwrap();
        let printed: u64 = printed.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(pages.abs_diff(printed) < 4096, "{pages} {printed}");
    }
}
