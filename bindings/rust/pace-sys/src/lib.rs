//! Declarations of `pace.h`, the C interface of Pace, and the link to `libpace`.
//!
//! The names are those of `pace.h`, whose comments document them. The crate `pace` is the safe interface over this one.
//! What `pace.h` writes as macros and inline functions is in Rust here: `PACE_REST`, the `_INIT` constants, [`pace_whole`]
//! and [`pace_option_int`] with its kin.
//!
//! `libpace` is found when a program is linked: in the folder that the environment's `PACE_LIB_DIR` names, else where
//! pkg-config says, else in the linker's own folders.

#![allow(non_camel_case_types)]

#[rustfmt::skip]
#[allow(missing_docs)]
mod bindings;
mod init;
mod values;

pub use bindings::*;
pub use init::*;
pub use values::*;
