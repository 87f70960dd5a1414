//! Driver: what a case has named, and which function does which command.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use pace::{AnyBuffer, Canceler, RequestId, Session};

use crate::command::{broken, line_of, unsupported, Answer, Answered, Command, Refusal};
use crate::flying::Flying;
use crate::named::Named;
use crate::tensors::AnyTensor;

/// A request of a case.
pub struct Entry {
    pub id: RequestId,
    pub canceler: Canceler,
    /// None: a thread waits for it, which has moved it.
    pub flying: Option<Flying>,
}

/// Threads: any.
#[derive(Default)]
pub struct Driver {
    named: Mutex<Things>,
    threads: Mutex<HashMap<String, JoinHandle<String>>>,
}

/// What has a name.
#[derive(Default)]
pub struct Things {
    pub sessions: HashMap<String, Arc<Session>>,
    pub buffers: HashMap<String, Named>,
    pub requests: HashMap<String, Entry>,
    pub tensors: HashMap<String, Box<dyn AnyTensor>>,
    /// Names of what is moved or dropped.
    pub gone: HashSet<String>,
    pub made: u64,
}

impl Driver {
    /// Does a command, and gives the line that answers it.
    pub fn answer(self: &Arc<Driver>, command: Command) -> String {
        line_of(self.run(command))
    }

    fn run(self: &Arc<Driver>, command: Command) -> Answered {
        match command.verb.as_str() {
            "open" => self.open(&command),
            "info" => self.info(&command),
            "leave" => self.leave(&command),
            "free" => self.free_session(&command),
            "fd" => self.look_at_fd(&command),
            "fork" => self.fork(&command),
            "report" => self.report(&command),
            "next" => self.next(&command),
            "wait_any" => self.wait_any(&command),
            "announce" | "withdraw" => self.announce(&command),
            "buffer" => self.make_buffer(&command),
            "describe" => self.describe(&command),
            "free_buffer" => self.free_buffer(&command, AnyBuffer::free),
            "release_buffer" => self.free_buffer(&command, AnyBuffer::release),
            "write" | "fill" => self.write(&command),
            "read" => self.read(&command),
            "tensor" => self.make_tensor(&command),
            "read_tensor" => self.read_tensor(&command),
            "free_tensor" => self.free_tensor(&command),
            "ready" => self.ready(&command),
            "wait" | "test" => self.wait(&command),
            "cancel" => self.cancel(&command),
            "query" => self.query(&command),
            "version" => Ok(Answer::ok().with("header", pace::HEADER_VERSION).with("library", pace::library_version())),
            "name" => self.name(&command),
            "spawn" => self.spawn(command),
            "join" => self.join(&command),
            "drop" => self.drop_any(&command),
            _ => self.begin(&command),
        }
    }

    pub fn things(&self) -> MutexGuard<'_, Things> {
        self.named.lock().unwrap()
    }

    fn spawn(self: &Arc<Driver>, command: Command) -> Answered {
        let inner = match Command::of(command.words.into_iter().skip(2).collect()) {
            Some(inner) => inner,
            None => return broken("spawn: there is no command"),
        };
        let driver = self.clone();
        let thread = thread::spawn(move || driver.answer(inner));
        self.threads.lock().unwrap().insert(command.name, thread);
        Ok(Answer::ok())
    }

    fn join(&self, command: &Command) -> Answered {
        let thread = self.threads.lock().unwrap().remove(&command.name);
        match thread.map(JoinHandle::join) {
            Some(Ok(line)) => Ok(Answer::literal(line)),
            Some(Err(_)) => broken("the thread has panicked"),
            None => broken(format!("there is no thread {}", command.name)),
        }
    }

    fn name(&self, command: &Command) -> Answered {
        match command.name.parse() {
            Ok(number) => Ok(Answer::ok().with("name", pace::status_name(number))),
            Err(_) => broken(format!("{} is no number", command.name)),
        }
    }

    fn query(&self, command: &Command) -> Answered {
        let json = pace::query(&command.name, command.text("endpoint"))?;
        let json = json.trim();
        let is_json = (json.starts_with('{') && json.ends_with('}')) || (json.starts_with('[') && json.ends_with(']'));
        Ok(Answer::ok().with("json", u8::from(is_json)))
    }

    fn drop_any(&self, command: &Command) -> Answered {
        let name = &command.name;
        let mut things = self.things();
        let dropped = (
            things.sessions.remove(name),
            things.buffers.remove(name),
            things.requests.remove(name),
            things.tensors.remove(name),
        );
        things.gone.insert(name.clone());
        drop(things);
        drop(dropped);
        Ok(Answer::ok())
    }
}

impl Things {
    /// Why there is nothing of that name.
    pub fn lacks<T>(&self, name: &str) -> Result<T, Refusal> {
        if self.gone.contains(name) {
            return unsupported(format!("{name} is moved or dropped: naming it would not compile"));
        }
        broken(format!("nothing is named {name}"))
    }

    pub fn session(&self, name: &str) -> Result<Arc<Session>, Refusal> {
        match self.sessions.get(name) {
            Some(session) => Ok(session.clone()),
            None => self.lacks(name),
        }
    }
}
