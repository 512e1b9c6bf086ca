//! Things by growing number, of which old ones are let go: four bytes are left of those. Knows nothing of what they are.

use std::ops::{Index, IndexMut};

cairn_kernel::ids! {
    /// Where something is.
    PlaceId,
}

/// Things by the number in which they came, from 0 on.
#[derive(Clone, Debug)]
pub struct Roll<T> {
    /// By number: where it is; none of those that were let go.
    place: Vec<Option<PlaceId>>,
    things: Vec<Option<T>>,
    free: Vec<PlaceId>,
}

impl<T> Default for Roll<T> {
    fn default() -> Roll<T> {
        Roll {
            place: Vec::new(),
            things: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Roll<T> {
    /// How many ever came.
    #[allow(
        clippy::len_without_is_empty,
        reason = "it counts numbers, not what is there"
    )]
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// How many are there.
    pub fn kept(&self) -> usize {
        self.things.len() - self.free.len()
    }

    /// One comes, with the next number.
    pub fn push(&mut self, thing: T) {
        let place = match self.free.pop() {
            Some(place) => {
                self.things[place.index()] = Some(thing);
                place
            }
            None => {
                self.things.push(Some(thing));
                PlaceId::new(self.things.len() - 1)
            }
        };
        self.place.push(Some(place));
    }

    /// The next number is of one that was let go already.
    pub fn skip(&mut self) {
        // A number without a place: later numbers stay what they were.
        self.place.push(None);
    }

    /// The one of this number, if it is there.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&T> {
        let place = (*self.place.get(number)?)?;
        self.things[place.index()].as_ref()
    }

    /// The same to change it.
    #[inline]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = (*self.place.get(number)?)?;
        self.things[place.index()].as_mut()
    }

    /// Whether the one of this number was let go.
    pub fn is_gone(&self, number: usize) -> bool {
        self.place.get(number) == Some(&None)
    }

    /// Lets one go. Its number is not given again.
    pub fn let_go(&mut self, number: usize) -> Option<T> {
        let place = self.place.get_mut(number)?.take()?;
        self.free.push(place);
        self.things[place.index()].take()
    }

    /// Those that are there, each with its number.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        let numbers = 0..self.place.len();
        numbers.filter_map(|number| Some((number, self.get(number)?)))
    }

    /// Those that are there, by number.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.numbered().map(|(_, thing)| thing)
    }
}

impl<'a, T> IntoIterator for &'a Roll<T> {
    type Item = &'a T;
    type IntoIter = Box<dyn DoubleEndedIterator<Item = &'a T> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl<T> Index<usize> for Roll<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        self.get(number).expect("it is there")
    }
}

impl<T> IndexMut<usize> for Roll<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        self.get_mut(number).expect("it is there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    /// Against a plain list of what is there.
    #[test]
    fn what_is_there_is_what_a_plain_list_has() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (mut roll, mut list) = (Roll::default(), Vec::new());
            let mut most = 0;
            for step in 0..80 {
                match random.below(5) {
                    0 => {
                        roll.skip();
                        list.push(None);
                    }
                    1 if !list.is_empty() => {
                        let number = random.below(list.len() + 1);
                        let gone = list.get_mut(number).and_then(Option::take);
                        assert_eq!(roll.let_go(number), gone);
                    }
                    _ => {
                        roll.push(step);
                        list.push(Some(step));
                    }
                }
                let there: Vec<(usize, i32)> = (list.iter().enumerate())
                    .filter_map(|(number, thing)| Some((number, (*thing)?)))
                    .collect();
                most = most.max(there.len());
                let found: Vec<(usize, i32)> = roll.numbered().map(|(n, &t)| (n, t)).collect();
                assert_eq!(found, there);
                assert_eq!((roll.len(), roll.kept()), (list.len(), there.len()));
                assert!(roll.things.len() <= most, "room is used again");
                for (number, thing) in list.iter().enumerate() {
                    assert_eq!(roll.get(number), thing.as_ref());
                    assert_eq!(roll.get_mut(number).copied(), *thing);
                    assert_eq!(roll.is_gone(number), thing.is_none());
                }
            }
        }
    }
}
