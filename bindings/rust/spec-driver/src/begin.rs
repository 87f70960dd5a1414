//! Commands that begin a request.

use pace::{
    AverageOptions, BroadcastOptions, CallOptions, Failure, Left, Op, Order, PullOptions, PushOptions, ReduceOptions,
    Request,
};

use crate::command::{broken, unsupported, Answer, Answered, Command, Refusal};
use crate::driver::{Driver, Entry, Things};
use crate::flying::{spots_of, Flying, Pending, Pieces, Spot};
use crate::named::Piece;

type Began = Result<Box<dyn Pending>, (pace::Error, Vec<Piece>)>;

impl Driver {
    pub fn begin(&self, command: &Command) -> Answered {
        // The lock is not held while the verb runs, which may reconnect; what it takes is out of reach meanwhile.
        let (session, buffers, results) = {
            let mut things = self.things();
            let session = match command.text("session") {
                Some(name) => things.session(name)?,
                None => return broken(format!("there is no command {}", command.verb)),
            };
            let buffers = things.take(command.text("buffers"))?.unwrap_or_default();
            match things.take(command.text("results")) {
                Ok(results) => (session, buffers, results),
                Err(refusal) => {
                    things.give_back(buffers);
                    return Err(refusal);
                }
            }
        };
        let order = order_of(command)?;
        let spots = spots_of(&buffers);
        let began = match (command.verb.as_str(), results) {
            ("average", results) => {
                let options = AverageOptions {
                    iteration: command.number_or("iteration", 0)?,
                    user_data: command.number_or("user_data", 0)?,
                    order,
                    keep_local: command.switch("keep_local"),
                };
                match results {
                    None => began(session.average(buffers, options)),
                    Some(results) => began(session.average_into(buffers, results, options)),
                }
            }
            ("reduce", results) => {
                let options = ReduceOptions {
                    iteration: command.number_or("iteration", 0)?,
                    user_data: command.number_or("user_data", 0)?,
                    op: match command.text("op") {
                        Some("sum") => Op::Sum,
                        _ => Op::Mean,
                    },
                };
                match results {
                    None => began(session.reduce(buffers, options)),
                    Some(results) => began(session.reduce_into(buffers, results, options)),
                }
            }
            ("sync", Some(results)) => began(session.sync_into(buffers, results, plain(command)?)),
            ("sync", None) => began(session.sync(buffers, plain(command)?)),
            (verb, Some(_)) => return unsupported(format!("{verb} takes no results")),
            ("broadcast", None) => {
                let root = command.number_or("root", 0)?;
                let user_data = command.number_or("user_data", 0)?;
                began(session.broadcast(buffers, BroadcastOptions { root, user_data }))
            }
            ("barrier", None) => began(session.barrier(plain(command)?)),
            ("checkpoint", None) => began(session.checkpoint(plain(command)?)),
            ("push", None) => began(session.push(buffers, push_options(command)?)),
            ("pull", None) => {
                let options = PullOptions {
                    iteration: command.number_or("iteration", 0)?,
                    user_data: command.number_or("user_data", 0)?,
                    first: command.number_or("first", 0)?,
                };
                began(session.pull(buffers, options))
            }
            ("residual_save", None) => began(session.residual_save(buffers, plain(command)?)),
            ("residual_load", None) => began(session.residual_load(buffers, plain(command)?)),
            (verb, None) => return broken(format!("there is no command {verb}")),
        };
        self.keep(command, began, spots, order)
    }

    fn keep(&self, command: &Command, began: Began, spots: Vec<Spot>, order: Order) -> Answered {
        let mut things = self.things();
        let pending = match began {
            Ok(pending) => pending,
            Err((error, pieces)) => {
                things.give_back(pieces);
                return Err(error.into());
            }
        };
        let entry = Entry {
            id: pending.id(),
            canceler: pending.canceler(),
            flying: Some(Flying { pending, spots, is_forward: order == Order::Forward }),
        };
        let replaced = things.requests.insert(command.name.clone(), entry);
        drop(things);
        drop(replaced);
        Ok(Answer::ok())
    }
}

impl Things {
    /// Takes what a list of buffers and ranges names, "m,g[2:5]".
    fn take(&mut self, list: Option<&str>) -> Result<Option<Vec<Piece>>, Refusal> {
        let list = match list {
            Some(list) => list,
            None => return Ok(None),
        };
        let mut taken = Vec::new();
        for operand in list.split(',').filter(|operand| !operand.is_empty()) {
            match self.take_one(operand) {
                Ok(piece) => taken.push(piece),
                Err(refusal) => {
                    self.give_back(taken);
                    return Err(refusal);
                }
            }
        }
        Ok(Some(taken))
    }

    fn take_one(&mut self, operand: &str) -> Result<Piece, Refusal> {
        let (name, range) = match operand.split_once('[') {
            Some((name, range)) => (name, Some(range.trim_end_matches(']'))),
            None => (operand, None),
        };
        if !self.buffers.contains_key(name) {
            return self.lacks(name);
        }
        let named = self.buffers.get_mut(name).expect("it was there");
        let (first, end) = match range.map(|range| range.split_once(':')) {
            None => (0, named.count),
            Some(Some((first, end))) => match (first.parse(), end.parse()) {
                (Ok(first), Ok(end)) => (first, end),
                _ => return broken(format!("{operand} is no range")),
            },
            Some(None) => return broken(format!("{operand} is no range")),
        };
        named.take(first, end)
    }

    /// Joins pieces with the buffers that they are of, where those are there.
    pub fn give_back(&mut self, pieces: Vec<Piece>) {
        for Piece { owner, buffer } in pieces {
            if let Some(named) = self.buffers.values_mut().find(|named| named.number == owner) {
                named.give_back(buffer);
            }
        }
    }
}

fn began<B: Pieces>(begun: Result<Request<B>, Failure<B>>) -> Began {
    match begun {
        Ok(request) => Ok(Box::new(request)),
        Err(Failure { error, left: Left::Buffers(buffers), .. }) => Err((error, buffers.pieces())),
        Err(Failure { error, left: Left::InFlight(_), .. }) => Err((error, Vec::new())),
    }
}

fn plain(command: &Command) -> Result<CallOptions, Refusal> {
    Ok(CallOptions { user_data: command.number_or("user_data", 0)? })
}

fn order_of(command: &Command) -> Result<Order, Refusal> {
    match command.text("order") {
        None | Some("default") => Ok(Order::AtOnce),
        Some("forward") => Ok(Order::Forward),
        Some("backward") => Ok(Order::Backward),
        Some(order) => unsupported(format!("there is no order {order}")),
    }
}

fn push_options(command: &Command) -> Result<PushOptions, Refusal> {
    let entries = command.number("entries")?;
    Ok(PushOptions {
        iteration: command.number_or("iteration", 0)?,
        user_data: command.number_or("user_data", 0)?,
        first: command.number_or("first", 0)?,
        entries: match (command.switch("sparse"), entries) {
            (true, entries) => Some(entries.unwrap_or(0)),
            (false, None) => None,
            (false, Some(_)) => return unsupported("a dense push has no entries"),
        },
    })
}
