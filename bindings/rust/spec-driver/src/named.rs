//! Named: a buffer of a case, in the parts that are not in flight.

use pace::{AnyBuffer, Buffers, Part, Type};

use crate::command::{unsupported, Refusal};

/// A part of a named buffer, which a request may have.
pub struct Piece {
    /// The number of the buffer that it is of.
    pub owner: u64,
    pub buffer: AnyBuffer,
}

// SAFETY: it has the parts of the buffer that it owns.
unsafe impl Buffers for Piece {
    fn parts(&self, parts: &mut Vec<Part>) {
        self.buffer.parts(parts)
    }
}

/// A buffer that a case has named.
pub struct Named {
    pub number: u64,
    pub kind: Type,
    pub count: usize,
    /// Those that no request has, in their order. Neighbours are joined.
    pub at_hand: Vec<AnyBuffer>,
}

impl Named {
    pub fn new(number: u64, buffer: AnyBuffer) -> Named {
        Named { number, kind: buffer.kind(), count: buffer.len(), at_hand: vec![buffer] }
    }

    /// The whole buffer, when no request has a part of it.
    pub fn whole(&self) -> Result<&AnyBuffer, Refusal> {
        match self.at_hand.as_slice() {
            [buffer] if buffer.len() == self.count => Ok(buffer),
            _ => unsupported("a request has the buffer: naming it would not compile"),
        }
    }

    /// Splits elements off, for a request.
    pub fn take(&mut self, first: usize, end: usize) -> Result<Piece, Refusal> {
        if first > end || end > self.count {
            return unsupported(format!("elements {first}:{end} of {} cannot be split off", self.count));
        }
        let holds = |part: &AnyBuffer| part.offset() <= first && end <= part.offset() + part.len();
        let index = match self.at_hand.iter().position(holds) {
            Some(index) => index,
            None => return unsupported("a request has these elements: naming them would not compile"),
        };
        let mut before = self.at_hand.remove(index);
        let mut taken = before.split_off(first - before.offset());
        let after = taken.split_off(end - first);
        self.at_hand.extend([before, after].into_iter().filter(|part| !part.is_empty()));
        self.join();
        Ok(Piece { owner: self.number, buffer: taken })
    }

    /// Joins what a request had with the rest.
    pub fn give_back(&mut self, buffer: AnyBuffer) {
        if !buffer.is_empty() {
            self.at_hand.push(buffer);
            self.join();
        }
    }

    fn join(&mut self) {
        let mut parts = std::mem::take(&mut self.at_hand);
        parts.sort_by_key(AnyBuffer::offset);
        for part in parts {
            let apart = match self.at_hand.last_mut() {
                Some(last) => last.unsplit(part).err(),
                None => Some(part),
            };
            self.at_hand.extend(apart);
        }
    }
}
