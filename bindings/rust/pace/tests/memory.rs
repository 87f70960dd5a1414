//! Buffers in memory of several kinds.

mod support;

use std::os::unix::io::AsFd;

use pace::{AnyBuffer, Bf16, Element, ReduceOptions, Status, TensorKind, Type, F16};
use support::*;

fn mean_of<T: Element>(low: T, high: T) -> T {
    let (a, b) = reducing_pair();
    let of = |session: &pace::Session, number: T| {
        let mut buffer = session.buffer::<T>(1).unwrap();
        buffer[0] = number;
        buffer
    };
    let first = a.reduce(of(&a, low), ReduceOptions::default()).unwrap();
    end(b.reduce(of(&b, high), ReduceOptions::default()).unwrap());
    end(first).0[0]
}

#[test]
fn each_type_of_number_is_reduced() {
    assert_eq!(mean_of(1.0_f32, 2.0), 1.5);
    assert_eq!(mean_of(1.0_f64, 2.0), 1.5);
    assert_eq!(mean_of(F16::from_f32(1.0), F16::from_f32(2.0)).to_f32(), 1.5);
    assert_eq!(mean_of(Bf16::from_f32(1.0), Bf16::from_f32(2.0)).to_f32(), 1.5);
}

#[test]
fn a_buffer_is_zeroed_and_describes_itself() {
    let session = alone("all-reduce");
    let buffer = session.buffer::<f32>(1000).unwrap();
    assert!(buffer.len() == 1000 && buffer.iter().all(|&number| number == 0.0));
    let info = buffer.info().unwrap();
    assert_eq!((info.count, info.typestr.as_deref()), (1000, Some("<f4")));
    assert!(!info.is_restored && !info.is_staged);
    assert_eq!(session.buffer::<Bf16>(1).unwrap().info().unwrap().typestr, None);
    buffer.free().unwrap();
    let refused = session.buffer::<f32>(0).unwrap_err();
    assert_eq!((refused.status, refused.argument.as_str()), (Status::Invalid, "count"));
}

#[test]
fn a_buffer_of_another_session_is_refused_and_given_back() {
    let (a, b) = (alone("all-reduce"), alone("all-reduce"));
    let refused = a.reduce(filled(&b, &[4.0]), ReduceOptions::default()).unwrap_err();
    assert_eq!(refused.status(), Status::Handle);
    assert_eq!(refused.into_buffers().unwrap()[..], [4.0]);
}

#[test]
fn imported_memory_is_copied_at_calls_and_given_back() {
    let (a, b) = reducing_pair();
    let own = a.import(vec![1.0_f32, 2.0]).unwrap();
    assert!(own.info().unwrap().is_staged);
    let request = a.reduce(own, ReduceOptions::default()).unwrap();
    end(b.reduce(filled(&b, &[3.0, 4.0]), ReduceOptions::default()).unwrap());
    let (own, _) = end(request);
    let own = own.into_tensor(TensorKind::Unversioned).unwrap_err().into_buffers().unwrap();
    assert_eq!(own.into_boxed_slice().unwrap()[..], [2.0, 3.0]);
}

#[test]
fn memory_that_cannot_be_imported_is_given_back() {
    let session = alone("all-reduce");
    let refused = session.import(Vec::<f32>::new()).unwrap_err();
    assert_eq!(refused.status(), Status::Invalid);
    assert!(refused.into_buffers().unwrap().is_empty());
    let mut own = session.import(vec![1_u32, 2]).unwrap();
    let rest = own.split_off(1);
    let mut own = own.into_boxed_slice().unwrap_err();
    own.unsplit(rest).unwrap();
    drop(session);
    assert_eq!(own.into_boxed_slice().unwrap()[..], [1, 2]);
    assert!(filled(&alone("all-reduce"), &[1.0]).into_boxed_slice().is_err());
}

#[test]
fn memory_of_a_descriptor_is_shared() {
    let (a, b) = reducing_pair();
    let fd = pace::memfd::<f32>(1024).unwrap();
    // SAFETY: nobody else has the descriptor.
    let mut own = unsafe { a.import_fd::<f32>(fd.as_fd(), 1024) }.unwrap();
    own.fill(1.0);
    let request = a.reduce(own, ReduceOptions::default()).unwrap();
    end(b.reduce(filled(&b, &[3.0; 1024]), ReduceOptions::default()).unwrap());
    assert!(end(request).0.iter().all(|&number| number == 2.0));
    // SAFETY: as above.
    let refused = unsafe { a.import_fd::<f32>(fd.as_fd(), 5000) }.unwrap_err();
    assert_eq!(refused.status, Status::Invalid);
}

#[test]
fn a_tensor_has_the_elements_when_buffer_and_session_are_gone() {
    let session = alone("all-reduce");
    let mut tensor = filled(&session, &[1.0, 2.0, 3.0]).into_tensor(TensorKind::Unversioned).unwrap();
    // SAFETY: nobody writes the buffer while the tensor is read.
    let shared = unsafe { filled(&session, &[5.0]).share_tensor(TensorKind::Versioned) }.unwrap();
    let mut whole = filled(&session, &[1.0, 2.0]);
    let _rest = whole.split_off(1);
    let part = whole.into_tensor(TensorKind::Unversioned).unwrap_err();
    assert_eq!((part.status(), part.error.argument.as_str()), (Status::Invalid, "buffer"));
    drop(session);
    tensor[0] = 4.0;
    assert_eq!((tensor.code(), tensor.bits(), &tensor[..]), (2, 32, &[4.0, 2.0, 3.0][..]));
    assert_eq!(shared[..], [5.0]);
}

#[test]
fn a_tensor_of_imported_memory_holds_it() {
    let session = alone("all-reduce");
    let own = session.import(vec![1.0_f64, 2.0]).unwrap();
    // SAFETY: nobody writes the memory.
    let tensor = unsafe { own.share_tensor(TensorKind::Unversioned) }.unwrap();
    drop(own);
    drop(session);
    let tensor = tensor.into_raw().unwrap_err();
    assert_eq!(tensor[..], [1.0, 2.0]);
}

#[test]
fn any_buffer_is_of_the_type_that_it_was_made_of() {
    let (a, b) = reducing_pair();
    let of = |session: &pace::Session| -> Vec<AnyBuffer> {
        vec![filled(session, &[1.0, 2.0]).into(), session.buffer::<F16>(3).unwrap().into()]
    };
    let first = a.reduce(of(&a), ReduceOptions::default()).unwrap();
    end(b.reduce(of(&b), ReduceOptions::default()).unwrap());
    let (mut model, _) = end(first);
    assert_eq!((model[0].kind(), model[1].kind(), model[1].len()), (Type::F32, Type::F16, 3));
    let rest = model[0].split_off(1);
    assert_eq!((rest.offset(), rest.len()), (1, 1));
    let wrong = model[1].unsplit(rest).unwrap_err();
    model[0].unsplit(wrong).unwrap();
    assert_eq!(model[0].len(), 2);
}
