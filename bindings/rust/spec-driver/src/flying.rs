//! Flying: a request of a case, whatever it has.

use std::time::Duration;

use pace::{Bf16, Canceler, Error, Failure, Info, Left, Request, RequestId, Result, Type, F16};

use crate::elements::Elements;
use crate::named::Piece;

/// How to wait.
#[derive(Clone, Copy)]
pub enum Wait {
    Test,
    Until(Option<Duration>),
    Interruptible(Option<Duration>),
}

/// What a wait has learned.
pub struct Waited {
    /// None: the request has ended well.
    pub error: Option<Error>,
    /// None: it has not ended.
    pub info: Option<Box<Info>>,
    pub left: std::result::Result<Vec<Piece>, Box<dyn Pending>>,
}

/// A request of any kind.
pub trait Pending: Send {
    fn id(&self) -> RequestId;
    fn canceler(&self) -> Canceler;
    fn ready(&mut self, elements: u64) -> Result<()>;
    fn set_local_iteration(&mut self, iteration: u64);
    fn elements(&mut self, index: usize, kind: Type) -> Option<Elements<'_>>;
    fn wait(self: Box<Self>, how: Wait) -> Waited;
}

/// What requests of this driver have.
pub trait Pieces: Send + 'static {
    fn pieces(self) -> Vec<Piece>;
}

impl Pieces for () {
    fn pieces(self) -> Vec<Piece> {
        Vec::new()
    }
}

impl Pieces for Vec<Piece> {
    fn pieces(self) -> Vec<Piece> {
        self
    }
}

impl Pieces for (Vec<Piece>, Vec<Piece>) {
    fn pieces(self) -> Vec<Piece> {
        self.0.into_iter().chain(self.1).collect()
    }
}

impl<B: Pieces> Pending for Request<B> {
    fn id(&self) -> RequestId {
        Request::id(self)
    }

    fn canceler(&self) -> Canceler {
        Request::canceler(self)
    }

    fn ready(&mut self, elements: u64) -> Result<()> {
        Request::ready(self, elements)
    }

    fn set_local_iteration(&mut self, iteration: u64) {
        Request::set_local_iteration(self, iteration)
    }

    fn elements(&mut self, index: usize, kind: Type) -> Option<Elements<'_>> {
        match kind {
            Type::F32 => self.elements_mut::<f32>(index).map(Elements::F32),
            Type::F64 => self.elements_mut::<f64>(index).map(Elements::F64),
            Type::F16 => self.elements_mut::<F16>(index).map(Elements::F16),
            Type::Bf16 => self.elements_mut::<Bf16>(index).map(Elements::Bf16),
            Type::U32 => self.elements_mut::<u32>(index).map(Elements::U32),
        }
    }

    fn wait(self: Box<Self>, how: Wait) -> Waited {
        let ended = match how {
            Wait::Test => self.test(),
            Wait::Until(None) => Request::wait(*self),
            Wait::Until(Some(timeout)) => self.wait_timeout(timeout),
            Wait::Interruptible(timeout) => self.wait_interruptible(timeout),
        };
        match ended {
            Ok((buffers, info)) => Waited { error: None, info: Some(Box::new(info)), left: Ok(buffers.pieces()) },
            Err(Failure { error, info, left }) => Waited {
                error: Some(error),
                info,
                left: match left {
                    Left::Buffers(buffers) => Ok(buffers.pieces()),
                    Left::InFlight(request) => Err(Box::new(request)),
                },
            },
        }
    }
}

/// Where in its buffer a piece lies that a request has.
pub struct Spot {
    pub owner: u64,
    pub offset: usize,
    pub count: usize,
    pub kind: Type,
}

/// A request, and where its buffers came from.
pub struct Flying {
    pub pending: Box<dyn Pending>,
    pub spots: Vec<Spot>,
    /// What may be written lies at the end of each piece, and not at its beginning.
    pub is_forward: bool,
}

impl Flying {
    /// Hands over the elements of a buffer that may be touched in flight, with the place of the first one.
    pub fn visit(&mut self, owner: u64, visit: &mut dyn FnMut(usize, Elements<'_>)) {
        for (index, spot) in self.spots.iter().enumerate().filter(|(_, spot)| spot.owner == owner) {
            if let Some(elements) = self.pending.elements(index, spot.kind) {
                let skipped = if self.is_forward { spot.count - elements.len() } else { 0 };
                visit(spot.offset + skipped, elements);
            }
        }
    }
}

/// Where these pieces lie.
pub fn spots_of(pieces: &[Piece]) -> Vec<Spot> {
    pieces
        .iter()
        .map(|piece| Spot {
            owner: piece.owner,
            offset: piece.buffer.offset(),
            count: piece.buffer.len(),
            kind: piece.buffer.kind(),
        })
        .collect()
}
