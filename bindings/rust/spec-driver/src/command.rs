//! Command: one line of a case, and how it is answered.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use pace::{Error, Status};

/// Why a command has no answer with a status of Pace.
pub enum Refusal {
    /// The binding cannot say it.
    Unsupported(String),
    /// The driver does not understand it.
    Broken(String),
    /// The binding failed.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error)
    }
}

pub type Answered = Result<Answer, Refusal>;

pub fn unsupported<T>(reason: impl Display) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(reason.to_string()))
}

pub fn broken<T>(reason: impl Display) -> Result<T, Refusal> {
    Err(Refusal::Broken(reason.to_string()))
}

/// A command: its verb, the name that it makes or is about, and the rest.
pub struct Command {
    pub verb: String,
    pub name: String,
    pub values: HashMap<String, String>,
    /// All words, for `spawn`.
    pub words: Vec<String>,
}

impl Command {
    pub fn parse(line: &str) -> Option<Command> {
        Command::of(line.split_whitespace().map(str::to_owned).collect())
    }

    pub fn of(words: Vec<String>) -> Option<Command> {
        let verb = words.first()?.clone();
        let name = words.get(1).filter(|word| !word.contains('=')).cloned().unwrap_or_default();
        let pairs = words.iter().skip(1).filter_map(|word| word.split_once('='));
        let values = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Some(Command { verb, name, values, words })
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The value of a key. A number that its type does not hold cannot be said in Rust.
    pub fn number<T: FromStr>(&self, key: &str) -> Result<Option<T>, Refusal> {
        match self.text(key) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => unsupported(format!("{key}={text} does not fit the type of {key}")),
            },
        }
    }

    pub fn number_or<T: FromStr>(&self, key: &str, default: T) -> Result<T, Refusal> {
        Ok(self.number(key)?.unwrap_or(default))
    }

    pub fn switch(&self, key: &str) -> bool {
        self.text(key) == Some("1")
    }
}

/// The name of a status, and pairs of keys and values.
pub struct Answer(String);

impl Answer {
    pub fn ok() -> Answer {
        Answer::of(Status::Ok)
    }

    pub fn of(status: Status) -> Answer {
        Answer(status.name().to_owned())
    }

    pub fn failure(error: &Error) -> Answer {
        let answer = Answer::of(error.status);
        match error.argument.as_str() {
            "" => answer,
            argument => answer.with("argument", argument),
        }
    }

    /// What another command has been answered.
    pub fn literal(line: String) -> Answer {
        Answer(line)
    }

    pub fn with(self, key: &str, value: impl Display) -> Answer {
        Answer(format!("{} {key}={value}", self.0))
    }

    pub fn line(self) -> String {
        self.0
    }
}

/// The line that answers a command.
pub fn line_of(answered: Answered) -> String {
    match answered {
        Ok(answer) => answer.line(),
        Err(Refusal::Failed(error)) => Answer::failure(&error).line(),
        Err(Refusal::Unsupported(reason)) => format!("unsupported {reason}"),
        Err(Refusal::Broken(reason)) => format!("broken {reason}"),
    }
}
