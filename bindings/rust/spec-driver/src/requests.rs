//! Commands about requests.

use pace::{Contents, Info, RequestId};

use crate::command::{unsupported, Answer, Answered, Command, Refusal};
use crate::driver::{Driver, Things};
use crate::flying::{Flying, Wait, Waited};
use crate::sessions::timeout_of;

impl Driver {
    pub fn wait(&self, command: &Command) -> Answered {
        let how = match (command.verb.as_str(), command.switch("signals")) {
            ("test", _) => Wait::Test,
            (_, false) => Wait::Until(timeout_of(command, -1)?),
            (_, true) => Wait::Interruptible(timeout_of(command, -1)?),
        };
        let mut flying = self.things().take_flying(&command.name)?;
        if let Some(iteration) = command.number("local_iteration")? {
            flying.pending.set_local_iteration(iteration);
        }
        self.collect(&command.name, flying, how)
    }

    pub fn next(&self, command: &Command) -> Answered {
        let timeout = timeout_of(command, -1)?;
        let session = self.things().session(&command.name)?;
        let id = session.next(timeout)?;
        self.collect_found(id)
    }

    pub fn wait_any(&self, command: &Command) -> Answered {
        let timeout = timeout_of(command, -1)?;
        let session = self.things().session(&command.name)?;
        let mut wanted = Vec::new();
        for name in command.text("requests").unwrap_or("").split(',') {
            match self.things().requests.get(name) {
                Some(entry) => wanted.push(entry.id),
                None => return self.things().lacks(name),
            }
        }
        let id = session.wait_any(&wanted, timeout)?;
        self.collect_found(id)
    }

    fn collect_found(&self, id: RequestId) -> Answered {
        let mut things = self.things();
        let name = things.requests.iter().find(|(_, entry)| entry.id == id).map(|(name, _)| name.clone());
        let name = match name {
            Some(name) => name,
            None => return unsupported("the request that has ended has no name any more"),
        };
        let flying = things.take_flying(&name)?;
        drop(things);
        Ok(self.collect(&name, flying, Wait::Test)?.with("request", name))
    }

    /// Waits for a request that has been taken from its place, and puts it back when it has not ended.
    fn collect(&self, name: &str, flying: Flying, how: Wait) -> Answered {
        let Flying { pending, spots, is_forward } = flying;
        let id = pending.id();
        let Waited { error, info, left } = pending.wait(how);
        let mut things = self.things();
        // Another request may have been given the name meanwhile.
        let is_there = things.requests.get(name).map_or(false, |entry| entry.id == id);
        match left {
            Ok(pieces) => {
                things.give_back(pieces);
                if is_there {
                    things.requests.remove(name);
                    things.gone.insert(name.to_owned());
                }
            }
            Err(pending) if is_there => {
                let entry = things.requests.get_mut(name).expect("it is there");
                entry.flying = Some(Flying { pending, spots, is_forward });
            }
            Err(pending) => drop(pending),
        }
        drop(things);
        let answer = error.as_ref().map_or_else(Answer::ok, Answer::failure);
        Ok(match info {
            Some(info) => with_info(answer, &info),
            None => answer,
        })
    }

    pub fn ready(&self, command: &Command) -> Answered {
        let elements = command.number_or("elements", 0)?;
        let mut things = self.things();
        match things.requests.get_mut(&command.name).map(|entry| &mut entry.flying) {
            Some(Some(flying)) => flying.pending.ready(elements)?,
            Some(None) => return unsupported("a wait has the request: naming it would not compile"),
            None => return things.lacks(&command.name),
        }
        Ok(Answer::ok())
    }

    pub fn cancel(&self, command: &Command) -> Answered {
        let things = self.things();
        let canceler = match things.requests.get(&command.name) {
            Some(entry) => entry.canceler.clone(),
            None => return things.lacks(&command.name),
        };
        drop(things);
        canceler.cancel()?;
        Ok(Answer::ok())
    }
}

impl Things {
    fn take_flying(&mut self, name: &str) -> Result<Flying, Refusal> {
        match self.requests.get_mut(name).map(|entry| entry.flying.take()) {
            Some(Some(flying)) => Ok(flying),
            Some(None) => unsupported("another wait has the request: naming it would not compile"),
            None => self.lacks(name),
        }
    }
}

fn with_info(answer: Answer, info: &Info) -> Answer {
    let contents = match info.contents {
        Contents::AsCalled => "as_called",
        Contents::Torn => "torn",
        Contents::Result => "result",
    };
    let ranks: Vec<String> = info.members.iter().map(|member| member.rank.to_string()).collect();
    let weights: Vec<String> = info.members.iter().map(|member| member.weight.to_string()).collect();
    answer
        .with("iteration", info.iteration)
        .with("user_data", info.user_data)
        .with("group", info.group)
        .with("round", info.round)
        .with("version", info.version)
        .with("member_count", info.member_count)
        .with("node_count", info.node_count)
        .with("contributor_count", info.contributor_count)
        .with("divisor", info.divisor)
        .with("rounds", info.rounds)
        .with("entries", info.entries)
        .with("late", u8::from(info.is_late))
        .with("resync", u8::from(info.needs_sync))
        .with("dense", u8::from(info.is_dense))
        .with("staleness", info.staleness)
        .with("slowest_clock", info.slowest_clock)
        .with("contents", contents)
        .with("members", ranks.join(","))
        .with("weights", weights.join(","))
}
