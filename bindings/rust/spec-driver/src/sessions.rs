//! Commands about sessions.

use std::os::unix::io::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use pace::{CallOptions, Progress, RunState, Session, SessionBuilder};

use crate::command::{broken, unsupported, Answer, Answered, Command, Refusal};
use crate::driver::Driver;
use crate::poll::wait_readable;
use crate::process;

/// A time of a command. None: without limit.
pub fn timeout_of(command: &Command, default_ms: i64) -> Result<Option<Duration>, Refusal> {
    match command.number_or("timeout_ms", default_ms)? {
        -1 => Ok(None),
        ms => match u64::try_from(ms) {
            Ok(ms) => Ok(Some(Duration::from_millis(ms))),
            Err(_) => unsupported("a Duration cannot be negative"),
        },
    }
}

impl Driver {
    pub fn open(&self, command: &Command) -> Answered {
        let session = builder_of(command)?.open()?;
        let info = session.info()?;
        let replaced = self.things().sessions.insert(command.name.clone(), Arc::new(session));
        drop(replaced);
        Ok(Answer::ok().with("rank", info.rank).with("world", info.world))
    }

    pub fn info(&self, command: &Command) -> Answered {
        let info = self.things().session(&command.name)?.info()?;
        let run_state = match info.run_state {
            RunState::New => "new",
            RunState::UnderWay => "under_way",
            RunState::Resumed => "resumed",
        };
        Ok(Answer::ok()
            .with("rank", info.rank)
            .with("world", info.world)
            .with("run_state", run_state)
            .with("generation", info.generation)
            .with("job", info.job)
            .with("node", info.node)
            .with("run", info.run))
    }

    pub fn leave(&self, command: &Command) -> Answered {
        let timeout = timeout_of(command, 1000)?;
        let session = self.things().session(&command.name)?;
        session.leave(timeout)?;
        Ok(Answer::ok())
    }

    pub fn free_session(&self, command: &Command) -> Answered {
        let mut things = self.things();
        let freed = match things.sessions.remove(&command.name) {
            Some(session) => session,
            None => return things.lacks(&command.name),
        };
        things.gone.insert(command.name.clone());
        drop(things);
        drop(freed);
        Ok(Answer::ok())
    }

    pub fn report(&self, command: &Command) -> Answered {
        let total: Option<u64> = command.number("steps_total")?;
        let done = command.number_or("steps_done", 0)?;
        let progress = Progress {
            loss: command.number("loss")?,
            samples_per_s: command.number("samples_per_s")?,
            steps: total.map(|total| (done, total)),
        };
        self.things().session(&command.name)?.report(&progress)?;
        Ok(Answer::ok())
    }

    pub fn look_at_fd(&self, command: &Command) -> Answered {
        let session = self.things().session(&command.name)?;
        let is_readable = wait_readable(&[session.as_raw_fd()], command.number_or("timeout_ms", 0)?);
        Ok(Answer::ok().with("readable", u8::from(is_readable)))
    }

    pub fn fork(&self, command: &Command) -> Answered {
        let session = self.things().session(&command.name)?;
        let told = process::ask_child(|| match session.barrier(CallOptions::default()) {
            Ok(request) => {
                std::mem::forget(request);
                0
            }
            Err(failure) => failure.status().number(),
        });
        match told {
            Some(number) => Ok(Answer::ok().with("child", pace::status_name(number))),
            None => broken("the child did not tell"),
        }
    }

    pub fn announce(&self, command: &Command) -> Answered {
        let session = self.things().session(&command.name)?;
        match command.verb.as_str() {
            "announce" => session.announce(command.number_or("iteration", 0)?)?,
            _ => session.withdraw()?,
        }
        Ok(Answer::ok())
    }
}

fn builder_of(command: &Command) -> Result<SessionBuilder, Refusal> {
    let text = |key| command.text(key).unwrap_or("");
    let mut builder = Session::builder(text("job"), text("policy"))
        .rank(command.number_or("rank", 0)?)
        .world(command.number_or("world", 0)?)
        .resume(command.switch("resume"));
    if let Some(endpoint) = command.text("endpoint") {
        builder = builder.endpoint(endpoint);
    }
    if let Some(run) = command.text("run") {
        builder = builder.run(run);
    }
    match command.number::<i64>("connect_ms")? {
        None => {}
        Some(-1) => builder = builder.connect_timeout(None),
        Some(ms) => match u64::try_from(ms) {
            Ok(ms) => builder = builder.connect_timeout(Duration::from_millis(ms)),
            Err(_) => return unsupported("a Duration cannot be negative"),
        },
    }
    // In the order of the command: an option may be given twice.
    for word in &command.words {
        if let Some((kind_and_name, value)) = word.split_once('=') {
            if let Some((kind, name)) = kind_and_name.split_once(':') {
                builder = with_option(builder, kind, name, value)?;
            }
        }
    }
    Ok(builder)
}

fn with_option(builder: SessionBuilder, kind: &str, name: &str, text: &str) -> Result<SessionBuilder, Refusal> {
    let (kind, is_hint) = match kind.strip_prefix("hint-") {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let value: Option<pace::Value> = match kind {
        "int" => text.parse::<i64>().ok().map(Into::into),
        "real" => text.parse::<f64>().ok().map(Into::into),
        "text" => Some(text.into()),
        "bytes" => bytes_of(text).map(Into::into),
        _ => None,
    };
    match value {
        None => broken(format!("{kind}:{name}={text} is no option")),
        Some(value) if is_hint => Ok(builder.hint(name, value)),
        Some(value) => Ok(builder.option(name, value)),
    }
}

fn bytes_of(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hexadecimal.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
