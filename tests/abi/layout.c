/* Prints the size and offsets of every public struct and the value of every enumerator, for
 * comparison with layout.txt. A new field or enumerator gets a line here. */
#include <pace.h>
#include <stdio.h>

#define STRUCT(type) printf("struct %s size %zu\n", #type, sizeof(type))
#define FIELD(type, field) \
    printf("  %s offset %zu size %zu\n", #field, offsetof(type, field), sizeof(((type*)0)->field))
#define VALUE(name) printf("%s = %ld\n", #name, (long)(name))

static void print_statuses(void) {
    VALUE(PACE_OK);
    VALUE(PACE_TIMEOUT);
    VALUE(PACE_ABORTED);
    VALUE(PACE_CANCELED);
    VALUE(PACE_STALE);
    VALUE(PACE_PENDING);
    VALUE(PACE_INTERRUPTED);
    VALUE(PACE_E_INVALID);
    VALUE(PACE_E_HANDLE);
    VALUE(PACE_E_VERB);
    VALUE(PACE_E_MISMATCH);
    VALUE(PACE_E_NOT_FOUND);
    VALUE(PACE_E_TAKEN);
    VALUE(PACE_E_VERSION);
    VALUE(PACE_E_DAEMON_GONE);
    VALUE(PACE_E_NO_CONTROLLER);
    VALUE(PACE_E_LIMIT);
    VALUE(PACE_E_MEMORY);
    VALUE(PACE_E_DISK);
    VALUE(PACE_E_DENIED);
    VALUE(PACE_E_CLOSED);
    VALUE(PACE_E_INTERNAL);
    VALUE(PACE_E_REFUSED);
    VALUE(PACE_E_UNSUPPORTED);
}

static void print_values(void) {
    VALUE(PACE_INT);
    VALUE(PACE_REAL);
    VALUE(PACE_TEXT);
    VALUE(PACE_BYTES);
    VALUE(PACE_OPTION_HINT);
    VALUE(PACE_SESSION_RESUME);
    VALUE(PACE_SESSION_SIGNALS);
    VALUE(PACE_PROGRESS_LOSS);
    VALUE(PACE_PROGRESS_RATE);
    VALUE(PACE_PROGRESS_STEPS);
    VALUE(PACE_F32);
    VALUE(PACE_F64);
    VALUE(PACE_F16);
    VALUE(PACE_BF16);
    VALUE(PACE_U32);
    VALUE(PACE_DEVICE_CPU);
    VALUE(PACE_DEVICE_CUDA);
    VALUE(PACE_DEVICE_ROCM);
    VALUE(PACE_DEVICE_ONEAPI);
    VALUE(PACE_NEW);
    VALUE(PACE_POINTER);
    VALUE(PACE_FD);
    VALUE(PACE_MAY_STAGE);
    VALUE(PACE_BUFFER_RESTORED);
    VALUE(PACE_BUFFER_STAGED);
    VALUE(PACE_CONTENTS_AS_CALLED);
    VALUE(PACE_CONTENTS_TORN);
    VALUE(PACE_CONTENTS_RESULT);
    VALUE(PACE_WAIT_SIGNALS);
    VALUE(PACE_WAIT_QUEUED);
    VALUE(PACE_ORDER_DEFAULT);
    VALUE(PACE_ORDER_FORWARD);
    VALUE(PACE_ORDER_BACKWARD);
    VALUE(PACE_OP_MEAN);
    VALUE(PACE_OP_SUM);
}

static void print_error(void) {
    STRUCT(pace_error);
    FIELD(pace_error, status);
    FIELD(pace_error, reserved);
    FIELD(pace_error, argument);
    FIELD(pace_error, message);
}

static void print_option(void) {
    STRUCT(pace_option);
    FIELD(pace_option, name); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_option, kind);
    FIELD(pace_option, flags);
    FIELD(pace_option, value);
    FIELD(pace_option, bytes);
}

static void print_session_options(void) {
    STRUCT(pace_session_options);
    FIELD(pace_session_options, struct_size);
    FIELD(pace_session_options, rank);
    FIELD(pace_session_options, world);
    FIELD(pace_session_options, flags);
    FIELD(pace_session_options, connect_ms);
    FIELD(pace_session_options,
          endpoint);                  /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_session_options, job); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_session_options,
          policy); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_session_options,
          options); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_session_options, option_count);
    FIELD(pace_session_options, run); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
}

static void print_session_info(void) {
    STRUCT(pace_session_info);
    FIELD(pace_session_info, struct_size);
    FIELD(pace_session_info, rank);
    FIELD(pace_session_info, world);
    FIELD(pace_session_info, run_state);
    FIELD(pace_session_info, generation);
    FIELD(pace_session_info, job);
    FIELD(pace_session_info, node);
    FIELD(pace_session_info, run);
    FIELD(pace_session_info, run_began);
    STRUCT(pace_progress);
    FIELD(pace_progress, struct_size);
    FIELD(pace_progress, flags);
    FIELD(pace_progress, loss);
    FIELD(pace_progress, samples_per_s);
    FIELD(pace_progress, steps_done);
    FIELD(pace_progress, steps_total);
}

static void print_buffer(void) {
    STRUCT(pace_buffer);
    FIELD(pace_buffer, session);
    FIELD(pace_buffer, index);
    FIELD(pace_buffer, generation);
}

static void print_device(void) {
    STRUCT(pace_device);
    FIELD(pace_device, type);
    FIELD(pace_device, id);
}

static void print_buffer_options(void) {
    STRUCT(pace_buffer_options);
    FIELD(pace_buffer_options, struct_size);
    FIELD(pace_buffer_options, source);
    FIELD(pace_buffer_options, device);
    FIELD(pace_buffer_options,
          pointer); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_buffer_options, fd);
    FIELD(pace_buffer_options, flags);
}

static void print_buffer_info(void) {
    STRUCT(pace_buffer_info);
    FIELD(pace_buffer_info, struct_size);
    FIELD(pace_buffer_info, type);
    FIELD(pace_buffer_info, count);
    FIELD(pace_buffer_info, data); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_buffer_info, device);
    FIELD(pace_buffer_info, dl_type_code);
    FIELD(pace_buffer_info, dl_type_bits);
    FIELD(pace_buffer_info, dl_type_lanes);
    FIELD(pace_buffer_info, typestr);
    FIELD(pace_buffer_info, flags);
    FIELD(pace_buffer_info, twin_bytes);
}

static void print_request(void) {
    STRUCT(pace_request);
    FIELD(pace_request, session);
    FIELD(pace_request, id);
}

static void print_member(void) {
    STRUCT(pace_member);
    FIELD(pace_member, rank);
    FIELD(pace_member, reserved);
    FIELD(pace_member, staleness);
    FIELD(pace_member, weight);
}

static void print_request_info(void) {
    STRUCT(pace_request_info);
    FIELD(pace_request_info, struct_size);
    FIELD(pace_request_info, status);
    FIELD(pace_request_info, iteration);
    FIELD(pace_request_info, user_data);
    FIELD(pace_request_info, group);
    FIELD(pace_request_info, round);
    FIELD(pace_request_info, version);
    FIELD(pace_request_info, bytes_sent);
    FIELD(pace_request_info, bytes_received);
    FIELD(pace_request_info, queued_ns);
    FIELD(pace_request_info, moving_ns);
    FIELD(pace_request_info, initial_weight);
    FIELD(pace_request_info, member_count);
    FIELD(pace_request_info, node_count);
    FIELD(pace_request_info, member_listed);
    FIELD(pace_request_info, contents);
    FIELD(pace_request_info, divisor);
    FIELD(pace_request_info, rounds);
    FIELD(pace_request_info, entries);
    FIELD(pace_request_info, contributor_count);
    FIELD(pace_request_info, late);
    FIELD(pace_request_info, resync);
    FIELD(pace_request_info, dense);
    FIELD(pace_request_info, staleness);
    FIELD(pace_request_info, slowest_clock);
}

static void print_wait_options(void) {
    STRUCT(pace_wait_options);
    FIELD(pace_wait_options, struct_size);
    FIELD(pace_wait_options, flags);
    FIELD(pace_wait_options, device);
    FIELD(pace_wait_options, stream); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_wait_options, local_iteration);
    FIELD(pace_wait_options,
          members); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_wait_options, member_capacity);
}

static void print_slice(void) {
    STRUCT(pace_slice);
    FIELD(pace_slice, buffer);
    FIELD(pace_slice, first);
    FIELD(pace_slice, count);
}

static void print_call(void) {
    STRUCT(pace_call);
    FIELD(pace_call, struct_size);
    FIELD(pace_call, flags);
    FIELD(pace_call, iteration);
    FIELD(pace_call, user_data);
    FIELD(pace_call, device);
    FIELD(pace_call, stream);  /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_call, results); /* NOLINT(bugprone-sizeof-expression): the pointer is meant */
    FIELD(pace_call, result_count);
    FIELD(pace_call, reserved);
}

static void print_average_options(void) {
    STRUCT(pace_average_options);
    FIELD(pace_average_options, call);
    FIELD(pace_average_options, order);
    FIELD(pace_average_options, keep_local);
}

static void print_reduce_options(void) {
    STRUCT(pace_reduce_options);
    FIELD(pace_reduce_options, call);
    FIELD(pace_reduce_options, op);
    FIELD(pace_reduce_options, reserved);
}

static void print_broadcast_options(void) {
    STRUCT(pace_broadcast_options);
    FIELD(pace_broadcast_options, call);
    FIELD(pace_broadcast_options, root);
    FIELD(pace_broadcast_options, reserved);
}

static void print_sync_options(void) {
    STRUCT(pace_sync_options);
    FIELD(pace_sync_options, call);
}

static void print_barrier_options(void) {
    STRUCT(pace_barrier_options);
    FIELD(pace_barrier_options, call);
}

static void print_push_options(void) {
    STRUCT(pace_push_options);
    FIELD(pace_push_options, call);
    FIELD(pace_push_options, sparse);
    FIELD(pace_push_options, reserved);
    FIELD(pace_push_options, entries);
    FIELD(pace_push_options, first);
}

static void print_pull_options(void) {
    STRUCT(pace_pull_options);
    FIELD(pace_pull_options, call);
    FIELD(pace_pull_options, first);
}

static void print_checkpoint_options(void) {
    STRUCT(pace_checkpoint_options);
    FIELD(pace_checkpoint_options, call);
}

static void print_residual_options(void) {
    STRUCT(pace_residual_options);
    FIELD(pace_residual_options, call);
}

int main(void) {
    print_statuses();
    print_values();
    print_error();
    print_option();
    print_session_options();
    print_session_info();
    print_buffer();
    print_device();
    print_buffer_options();
    print_buffer_info();
    print_request();
    print_member();
    print_request_info();
    print_wait_options();
    print_slice();
    print_call();
    print_average_options();
    print_reduce_options();
    print_broadcast_options();
    print_sync_options();
    print_barrier_options();
    print_push_options();
    print_pull_options();
    print_checkpoint_options();
    print_residual_options();
    return 0;
}
