//! Random numbers and dags for tests, by seed alone.

use cairn_dag::Dag;

pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.uniform() * bound as f64) as usize
    }

    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A dag of up to so many tasks; arcs go up by number.
    pub(super) fn dag(&mut self, most: usize) -> Dag {
        let tasks = 1 + self.below(most);
        let density = self.uniform();
        let mut arcs = Vec::new();
        for child in 1..tasks {
            for parent in 0..child {
                if self.uniform() < density * 3.0 / tasks as f64 {
                    arcs.push((parent as u32, child as u32));
                }
            }
        }
        Dag::from_arcs(tasks, arcs).expect("arcs go up")
    }
}
