//! Commands about buffers.

use std::os::unix::io::AsFd;

use pace::{AnyBuffer, Bf16, Buffer, Element, Session, F16};

use crate::command::{broken, unsupported, Answer, Answered, Command, Refusal};
use crate::driver::{Driver, Things};
use crate::elements::Elements;
use crate::named::Named;

impl Driver {
    pub fn make_buffer(&self, command: &Command) -> Answered {
        let session = self.things().session(command.text("session").unwrap_or(""))?;
        let buffer = match command.text("type") {
            Some("f32") => made::<f32>(&session, command)?.into(),
            Some("f64") => made::<f64>(&session, command)?.into(),
            Some("f16") => made::<F16>(&session, command)?.into(),
            Some("bf16") => made::<Bf16>(&session, command)?.into(),
            Some("u32") => made::<u32>(&session, command)?.into(),
            kind => return unsupported(format!("there is no type {}", kind.unwrap_or("without a name"))),
        };
        let mut things = self.things();
        things.made += 1;
        let named = Named::new(things.made, buffer);
        let replaced = things.buffers.insert(command.name.clone(), named);
        drop(things);
        drop(replaced);
        Ok(Answer::ok())
    }

    pub fn describe(&self, command: &Command) -> Answered {
        let things = self.things();
        let named = things.buffer(&command.name)?;
        let part = match named.at_hand.first() {
            Some(part) => part,
            None => return unsupported("a request has the buffer: naming it would not compile"),
        };
        let info = part.info()?;
        Ok(Answer::ok()
            .with("type", named.kind)
            .with("count", info.count)
            .with("typestr", info.typestr.as_deref().unwrap_or("none"))
            .with("restored", u8::from(info.is_restored))
            .with("staged", u8::from(info.is_staged)))
    }

    pub fn free_buffer(&self, command: &Command, free: fn(AnyBuffer) -> pace::Result<()>) -> Answered {
        let mut things = self.things();
        things.buffer(&command.name)?.whole()?;
        let named = things.buffers.remove(&command.name);
        things.gone.insert(command.name.clone());
        drop(things);
        named.into_iter().flat_map(|named| named.at_hand).try_for_each(free)?;
        Ok(Answer::ok())
    }

    pub fn write(&self, command: &Command) -> Answered {
        let mut things = self.things();
        let count = things.buffer(&command.name)?.count;
        let values: Vec<&str> = match command.text("value") {
            Some(value) => vec![value; count],
            None => command.text("values").unwrap_or("").split(',').collect(),
        };
        let first = command.number_or("first", 0)?;
        let mut is_wrong = false;
        things.visit(&command.name, first, values.len(), |index, elements, place| {
            is_wrong |= !elements.set(place, values[index]);
        })?;
        if is_wrong {
            return unsupported("a value is none of the buffer's type");
        }
        Ok(Answer::ok())
    }

    pub fn read(&self, command: &Command) -> Answered {
        let mut things = self.things();
        let whole = things.buffer(&command.name)?.count;
        let first: usize = command.number_or("first", 0)?;
        let count = command.number_or("count", whole.saturating_sub(first))?;
        let mut values = vec![String::new(); count];
        things.visit(&command.name, first, count, |index, elements, place| values[index] = elements.text(place))?;
        Ok(Answer::ok().with("values", values.join(",")))
    }
}

impl Things {
    pub fn buffer(&self, name: &str) -> Result<&Named, Refusal> {
        match self.buffers.get(name) {
            Some(named) => Ok(named),
            None => self.lacks(name),
        }
    }

    /// Calls `visit` with each of `count` elements from `first` on: its index among them, and where it lies. Those that a
    /// request has are among them only where the binding lets them be touched.
    fn visit(
        &mut self,
        name: &str,
        first: usize,
        count: usize,
        mut visit: impl FnMut(usize, &mut Elements<'_>, usize),
    ) -> Result<(), Refusal> {
        let mut visited = 0;
        let mut visit_part = |offset: usize, mut elements: Elements<'_>| {
            let begin = first.max(offset);
            let end = (first + count).min(offset + elements.len());
            for element in begin..end {
                visit(element - first, &mut elements, element - offset);
                visited += 1;
            }
        };
        let named = match self.buffers.get_mut(name) {
            Some(named) => named,
            None => return self.lacks(name),
        };
        for part in &mut named.at_hand {
            visit_part(part.offset(), Elements::of(part));
        }
        let number = named.number;
        for flying in self.requests.values_mut().filter_map(|entry| entry.flying.as_mut()) {
            flying.visit(number, &mut visit_part);
        }
        if visited != count {
            return unsupported(
                "some elements are beyond the end, or a request has them: touching them would not compile",
            );
        }
        Ok(())
    }
}

fn made<T: Element>(session: &Session, command: &Command) -> Result<Buffer<T>, Refusal> {
    let count = command.number_or("count", 0)?;
    match command.text("source").unwrap_or("new") {
        "new" => Ok(session.buffer(count)?),
        "pointer" => Ok(session.import(vec![T::default(); count]).map_err(pace::Error::from)?),
        "fd" => {
            let fd = match pace::memfd::<T>(count) {
                Ok(fd) => fd,
                Err(error) => return broken(format!("memfd: {error}")),
            };
            // SAFETY: the descriptor is closed here, and nobody else has it.
            Ok(unsafe { session.import_fd(fd.as_fd(), count) }?)
        }
        source => broken(format!("there is no source {source}")),
    }
}
