//! The structs have their sizes in pace.h on a machine with pointers of 64 bits.
#![cfg(target_pointer_width = "64")]

use std::mem::{align_of, size_of};

use pace_sys::*;

macro_rules! sizes {
    ($($name:ident: $size:expr, $align:expr;)*) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(size_of::<pace_sys::$name>(), $size);
                assert_eq!(align_of::<pace_sys::$name>(), $align);
            }
        )*
    };
}

sizes! {
    pace_error: 512, 4;
    pace_option: 32, 8;
    pace_session_options: 72, 8;
    pace_session_info: 224, 8;
    pace_buffer: 16, 8;
    pace_device: 8, 4;
    pace_buffer_options: 32, 8;
    pace_buffer_info: 56, 8;
    pace_request: 16, 8;
    pace_member: 24, 8;
    pace_request_info: 160, 8;
    pace_wait_options: 48, 8;
    pace_slice: 32, 8;
    pace_call: 72, 8;
    pace_average_options: 80, 8;
    pace_reduce_options: 80, 8;
    pace_broadcast_options: 80, 8;
    pace_push_options: 96, 8;
    pace_pull_options: 80, 8;
}

#[test]
fn the_first_field_tells_the_size_of_its_struct() {
    let options = PACE_PUSH_OPTIONS_INIT;
    assert_eq!(options.call.struct_size as usize, size_of::<pace_push_options>());
    assert_eq!(PACE_REQUEST_INFO_INIT.struct_size as usize, size_of::<pace_request_info>());
}

#[test]
fn the_library_has_the_version_of_these_declarations() {
    let declared = PACE_VERSION_MAJOR * 10000 + PACE_VERSION_MINOR * 100 + PACE_VERSION_PATCH;
    assert_eq!(unsafe { pace_library_version() }, declared);
}

#[test]
fn an_option_holds_what_it_was_made_of() {
    let name = b"group.size\0".as_ptr().cast();
    let option = pace_option_int(name, -3);
    assert_eq!((option.kind, option.flags, option.bytes), (PACE_INT as i32, 0, 0));
    assert_eq!(unsafe { option.value.i }, -3);
    let option = pace_option_bytes(name, name.cast(), 10);
    assert_eq!((option.kind, option.bytes), (PACE_BYTES as i32, 10));
    assert_eq!(unsafe { option.value.data }, name.cast());
}

#[test]
fn a_whole_buffer_is_a_slice_to_its_end() {
    let buffer = pace_buffer { session: 1, index: 2, generation: 3 };
    let slice = pace_whole(buffer);
    assert_eq!((slice.buffer.index, slice.first, slice.count), (2, 0, PACE_REST));
}
