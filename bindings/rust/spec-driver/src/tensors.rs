//! Commands about tensors of DLPack.

use pace::{AnyBuffer, Element, Tensor, TensorKind};

use crate::command::{unsupported, Answer, Answered, Command};
use crate::driver::Driver;
use crate::elements::Number;

/// A tensor of any type.
pub trait AnyTensor: Send {
    fn count(&self) -> usize;
    fn code(&self) -> u8;
    fn bits(&self) -> u8;
    fn values(&self) -> String;
}

impl<T: Element + Number> AnyTensor for Tensor<T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn code(&self) -> u8 {
        Tensor::code(self)
    }

    fn bits(&self) -> u8 {
        Tensor::bits(self)
    }

    fn values(&self) -> String {
        self.iter().map(|number| number.text()).collect::<Vec<_>>().join(",")
    }
}

impl Driver {
    pub fn make_tensor(&self, command: &Command) -> Answered {
        let kind = match command.number_or("major", 0)? {
            0 => TensorKind::Unversioned,
            1u32 => TensorKind::Versioned,
            major => return unsupported(format!("there is no kind of tensor of major {major}")),
        };
        let mut things = self.things();
        let buffer = things.buffer(command.text("buffer").unwrap_or(""))?.whole()?;
        // SAFETY: cases read tensors while no request has the buffer, and never write them.
        let tensor: Box<dyn AnyTensor> = unsafe {
            match buffer {
                AnyBuffer::F32(buffer) => Box::new(buffer.share_tensor(kind)?),
                AnyBuffer::F64(buffer) => Box::new(buffer.share_tensor(kind)?),
                AnyBuffer::F16(buffer) => Box::new(buffer.share_tensor(kind)?),
                AnyBuffer::Bf16(buffer) => Box::new(buffer.share_tensor(kind)?),
                AnyBuffer::U32(buffer) => Box::new(buffer.share_tensor(kind)?),
            }
        };
        let answer = Answer::ok().with("count", tensor.count()).with("code", tensor.code()).with("bits", tensor.bits());
        things.tensors.insert(command.name.clone(), tensor);
        Ok(answer)
    }

    pub fn read_tensor(&self, command: &Command) -> Answered {
        let things = self.things();
        match things.tensors.get(&command.name) {
            Some(tensor) => Ok(Answer::ok().with("values", tensor.values())),
            None => things.lacks(&command.name),
        }
    }

    pub fn free_tensor(&self, command: &Command) -> Answered {
        let mut things = self.things();
        match things.tensors.remove(&command.name) {
            Some(_) => {
                things.gone.insert(command.name.clone());
                Ok(Answer::ok())
            }
            None => things.lacks(&command.name),
        }
    }
}
