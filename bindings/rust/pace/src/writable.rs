//! Writable: which elements of a request in flight its trainer may touch.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::handle::{lock, Handle};

/// How a trainer says which elements of its buffers are ready, counted over all of them as one vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All are, at the call.
    #[default]
    AtOnce,
    /// [`Request::ready`](crate::Request::ready) tells how many of the first.
    Forward,
    /// [`Request::ready`](crate::Request::ready) tells how many of the last, as a backward pass makes them.
    Backward,
}

/// Counted by the session while the request is there: `next`, which collects any request, may not run then.
pub(crate) struct Writable {
    handle: Arc<Handle>,
    order: Order,
    ready: u64,
    total: u64,
}

impl Writable {
    /// Fails with `Invalid` while `next` runs.
    pub(crate) fn begin(handle: &Arc<Handle>, order: Order, total: u64) -> Result<Writable> {
        let mut ends = lock(&handle.ends);
        if ends.nexts > 0 {
            let message =
                "a thread is in Session::next, which may write the buffers of this average when it collects it; \
                           wait for each request instead";
            return Err(Error::invalid(if order == Order::AtOnce { "keep_local" } else { "order" }, message));
        }
        ends.writable += 1;
        Ok(Writable { handle: handle.clone(), order, ready: 0, total })
    }

    /// So many elements are ready, and will not be written again.
    pub(crate) fn ready(&mut self, elements: u64) {
        self.ready = self.ready.max(elements);
    }

    /// The elements, counted over all buffers, that may be written.
    fn range(&self) -> Range<u64> {
        match self.order {
            Order::AtOnce => 0..self.total,
            Order::Forward => self.ready..self.total,
            Order::Backward => 0..self.total - self.ready,
        }
    }

    /// The writable elements among `count` elements from `first` on, counted from `first`.
    pub(crate) fn within(&self, first: u64, count: u64) -> Range<usize> {
        let range = self.range();
        let begin = range.start.clamp(first, first + count) - first;
        let end = range.end.clamp(first, first + count) - first;
        begin as usize..end as usize
    }
}

impl Drop for Writable {
    fn drop(&mut self) {
        lock(&self.handle.ends).writable -= 1;
    }
}
