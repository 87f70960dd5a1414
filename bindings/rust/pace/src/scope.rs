//! Scope: verbs on borrowed buffers.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use crate::handle::Handle;
use crate::keeper::Keeper;
use crate::verbs::Verbs;

/// Verbs whose buffers may be borrowed, `&mut model`, for as long as [`Session::scope`](crate::Session::scope) runs.
///
/// An average has neither an order nor `keep_local` here: the end of the scope, which ends its requests, could write what another
/// thread touches. Give the session's `average` the buffer itself.
pub struct Scope<'scope, 'env: 'scope> {
    verbs: Verbs<'scope>,
    environment: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Deref for Scope<'scope, '_> {
    type Target = Verbs<'scope>;

    fn deref(&self) -> &Verbs<'scope> {
        &self.verbs
    }
}

/// Ends all requests of a scope, also when its function panics.
struct End<'a> {
    handle: &'a Handle,
    keeper: &'a Keeper,
    is_open: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.keeper.end_all(self.handle);
        if self.is_open {
            self.handle.close_scope();
        }
    }
}

/// Runs `function` with a scope, and ends what it has begun.
pub(crate) fn run<'env, F, R>(handle: &'env Arc<Handle>, function: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let is_open = handle.open_scope();
    let scope = Scope {
        verbs: Verbs {
            handle: handle.clone(),
            keeper: Arc::new(Keeper::default()),
            is_scope: true,
            is_over: !is_open,
            lifetime: PhantomData,
        },
        environment: PhantomData,
    };
    let _end = End { handle, keeper: &scope.verbs.keeper, is_open };
    function(&scope)
}
