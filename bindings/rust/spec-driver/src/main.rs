//! The driver for `bindings/spec`: reads a command a line, does it by the crate `pace`, and answers each with one line.

mod begin;
mod buffers;
mod command;
mod driver;
mod elements;
mod flying;
mod named;
// The crate's own file: the crate does not export what it is made of.
#[path = "../../pace/src/poll.rs"]
mod poll;
mod process;
mod requests;
mod sessions;
mod tensors;

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use command::Command;
use driver::Driver;

fn main() -> io::Result<()> {
    process::handle_sigusr1();
    let driver = Arc::new(Driver::default());
    for line in io::stdin().lock().lines() {
        if let Some(command) = Command::parse(&line?) {
            let answer = driver.answer(command);
            let mut output = io::stdout().lock();
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    // Its jobs are not left in order.
    std::process::exit(0)
}
