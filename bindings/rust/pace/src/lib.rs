//! Pace: distributed training that goes on when workers are slow, late or dead.
//!
//! ```no_run
//! use pace::{AverageOptions, BroadcastOptions, Session};
//!
//! fn train(rank: u32, local_step: impl Fn(&mut [f32])) -> Result<(), pace::Error> {
//!     let session = Session::builder("fashion", "partial-reduce").rank(rank).world(8).option("group.size", 3).open()?;
//!     let model = session.buffer::<f32>(7850)?;
//!     let (mut model, mut info) = session.broadcast(model, BroadcastOptions::default())?.wait()?;
//!     while info.iteration < 1000 {
//!         local_step(&mut model);
//!         let next = AverageOptions::at(info.iteration + 1);
//!         (model, info) = session.average(model, next)?.wait()?;
//!     }
//!     session.leave(std::time::Duration::from_secs(1))
//! }
//! ```
//!
//! # Ownership
//!
//! The daemon reads and writes a buffer's memory while a request that names it is in flight. So a verb *takes* its buffers,
//! and the [`Request`] gives them back when it has ended. In between there is no name by which they could be touched, freed or
//! given to another verb, and this holds when the request is leaked, too. A failure gives the buffers back, whether the verb
//! was refused or the request ended otherwise than well.
//!
//! ```compile_fail,E0382
//! # fn f(session: &pace::Session, mut model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! let request = session.sync(model, Default::default())?;
//! model[0] = 1.0; // touched in flight
//! # request.wait()?; Ok(()) }
//! ```
//!
//! ```compile_fail,E0382
//! # fn f(session: &pace::Session, model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! let request = session.sync(model, Default::default())?;
//! model.free()?; // freed in flight
//! # request.wait()?; Ok(()) }
//! ```
//!
//! ```compile_fail,E0382
//! # fn f(session: &pace::Session, model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! let first = session.sync(model, Default::default())?;
//! let second = session.sync(model, Default::default())?; // reused in flight
//! # first.wait()?; second.wait()?; Ok(()) }
//! ```
//!
//! [`Session::scope`] has the same verbs for buffers that are borrowed. A request has the borrow until it has ended, and the
//! scope waits for requests that nobody has waited for.
//!
//! ```
//! # fn f(session: &pace::Session, mut model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! let info = session.scope(|scope| {
//!     let (model, info) = scope.sync(&mut model, Default::default())?.wait()?;
//!     model[0] = 1.0;
//!     Ok::<_, pace::Error>(info)
//! })?;
//! model[0] = 2.0;
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0499
//! # fn f(session: &pace::Session, mut model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! session.scope(|scope| {
//!     let request = scope.sync(&mut model, Default::default())?;
//!     model[0] = 1.0; // touched in flight
//!     request.wait()?;
//!     Ok(())
//! })
//! # }
//! ```
//!
//! ```compile_fail,E0597
//! # fn f(session: &pace::Session, mut model: pace::Buffer<f32>) -> Result<(), pace::Error> {
//! // A session's verbs take no borrowed buffers: nobody would wait for a request that is leaked.
//! std::mem::forget(session.sync(&mut model, Default::default())?);
//! model[0] = 1.0;
//! # Ok(()) }
//! ```
//!
//! A part of a buffer is split off by [`Buffer::split_off`]; what lies beside it stays free.
//!
//! # Threads
//!
//! All types of this crate may be sent to and used from any thread.
//!
//! ```
//! fn any_thread<T: Send + Sync>() {}
//! any_thread::<pace::Session>();
//! any_thread::<pace::Buffer<f32>>();
//! any_thread::<pace::Request<pace::Buffer<f32>>>();
//! any_thread::<pace::Tensor<f32>>();
//! any_thread::<pace::Canceler>();
//! any_thread::<pace::Error>();
//! ```
//!
//! What a verb takes is [`Buffers`], and so must be `Send`, since whichever thread collects a request may drop it:
//!
//! ```compile_fail,E0277
//! struct OfOneThread(pace::Buffer<f32>, std::rc::Rc<()>);
//! unsafe impl pace::Buffers for OfOneThread {
//!     fn parts(&self, parts: &mut Vec<pace::Part>) {
//!         self.0.parts(parts);
//!     }
//! }
//! ```
//!
//! Memory is that of the host: the crate has no words for buffers on a GPU.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod any_buffer;
mod begin;
mod buffer;
mod buffers;
mod dlpack;
mod element;
mod ends;
mod error;
mod failure;
mod half;
mod handle;
mod info;
mod keeper;
mod launch;
mod library;
mod memfd;
mod memory;
mod option;
mod poll;
mod request;
mod scope;
mod session;
mod session_builder;
mod status;
mod tensor;
mod text;
mod verb_options;
mod verbs;
mod waiting;
mod watcher;
mod writable;

pub use any_buffer::AnyBuffer;
pub use buffer::Buffer;
pub use buffers::{Buffers, Part};
pub use dlpack::TensorKind;
pub use element::{Element, Type};
pub use error::{Error, Result};
pub use failure::{Failure, Left};
pub use half::{Bf16, F16};
pub use info::{Contents, Info, Member, RunState, SessionInfo};
pub use launch::{launched, Launched};
pub use library::{library_version, query, HEADER_VERSION};
pub use memfd::memfd;
pub use memory::BufferInfo;
pub use option::Value;
pub use request::{Canceler, Request, RequestId};
pub use scope::Scope;
pub use session::{Progress, Session};
pub use session_builder::SessionBuilder;
pub use status::{status_name, Status};
pub use tensor::Tensor;
pub use verb_options::{AverageOptions, BroadcastOptions, CallOptions, Op, PullOptions, PushOptions, ReduceOptions};
pub use verbs::{Begun, Verbs};
pub use writable::Order;
