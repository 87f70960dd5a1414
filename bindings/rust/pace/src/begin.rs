//! Begin: how every verb makes a request of its buffers.

use pace_sys::{pace_call, pace_error, pace_request, pace_session, pace_slice};

use crate::buffers::{Buffers, Part};
use crate::error::Error;
use crate::failure::Failure;
use crate::request::{Flight, Request};
use crate::status::Status;
use crate::verbs::{Begun, Verbs};
use crate::writable::{Order, Writable};

/// A verb of the library that takes slices.
type Verb<O> = unsafe extern "C" fn(
    *mut pace_session,
    *const pace_slice,
    usize,
    *const O,
    *mut pace_request,
    *mut pace_error,
) -> i32;

/// A verb of the library that takes none.
type BareVerb<O> = unsafe extern "C" fn(*mut pace_session, *const O, *mut pace_request, *mut pace_error) -> i32;

/// What a request is to be begun with.
pub(crate) struct Begin<'v, 'a, B> {
    pub(crate) verbs: &'v Verbs<'a>,
    pub(crate) buffers: B,
    /// The trainer may write what is not ready, in this order; None: nothing.
    pub(crate) writable: Option<Order>,
}

impl<'a, B: Buffers + 'a> Begin<'_, 'a, B> {
    /// Calls the verb with these slices, which are of the buffers.
    pub(crate) fn with<O>(self, slices: &[pace_slice], verb: Verb<O>, options: &O) -> Begun<B> {
        // SAFETY: the buffers are alive, and the request that this makes keeps them until it has ended.
        self.call(|session, request, error| unsafe {
            verb(session, slices.as_ptr(), slices.len(), options, request, error)
        })
    }

    /// Calls the verb.
    pub(crate) fn without_buffers<O>(self, verb: BareVerb<O>, options: &O) -> Begun<B> {
        // SAFETY: the options live until the verb has returned.
        self.call(|session, request, error| unsafe { verb(session, options, request, error) })
    }

    fn call(self, verb: impl FnOnce(*mut pace_session, *mut pace_request, *mut pace_error) -> i32) -> Begun<B> {
        let Begin { verbs, buffers, writable } = self;
        if verbs.is_over {
            let message = "session: it has left its job; open another one";
            return Err(Failure::refused(Error::new(Status::Closed, "session", message), buffers));
        }
        if verbs.is_scope && writable.is_some() {
            // A request that owns its buffers may be carried out of the scope. The scope's end
            // collects it in this case, too.
            let message = "an average in a scope has neither an order nor keep_local; give the session's average the buffer itself";
            return Err(Failure::refused(Error::invalid("options", message), buffers));
        }
        let handle = &verbs.handle;
        verbs.keeper.sweep(handle);
        let parts = parts_of(&buffers);
        let total = parts.iter().map(|part| part.slice.count).sum();
        let writable = match writable.map(|order| Writable::begin(handle, order, total)).transpose() {
            Ok(writable) => writable,
            Err(error) => return Err(Failure::refused(error, buffers)),
        };
        let mut raw = pace_request { session: 0, id: 0 };
        match handle.call(|session, error| verb(session, &mut raw, error)) {
            Ok(()) => {
                handle.learn_stamp(raw);
                verbs.keeper.begin(raw)
            }
            Err(error) => return Err(Failure::refused(error, buffers)),
        }
        Ok(Request {
            flight: Some(Box::new(Flight {
                handle: handle.clone(),
                keeper: verbs.keeper.clone(),
                raw,
                buffers,
                parts,
                writable,
                local_iteration: 0,
            })),
        })
    }
}

fn parts_of(buffers: &dyn Buffers) -> Vec<Part> {
    let mut parts = Vec::new();
    buffers.parts(&mut parts);
    parts
}

/// The parts of these buffers in the words of the library.
pub(crate) fn slices_of(buffers: &dyn Buffers) -> Vec<pace_slice> {
    parts_of(buffers).iter().map(|part| part.slice).collect()
}

/// Fills in what is common to verbs. `results` live until the verb is called.
pub(crate) fn call_of(call: &mut pace_call, iteration: u64, user_data: u64, results: Option<&[pace_slice]>) {
    call.iteration = iteration;
    call.user_data = user_data;
    if let Some(results) = results {
        call.results = results.as_ptr();
        call.result_count = results.len();
    }
}
