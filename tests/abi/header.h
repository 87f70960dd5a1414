/* The common part of header.c and header.cpp: pace.h first and alone, then every INIT macro. */
#include <pace.h>

static size_t sizes(void) {
    pace_session_options open = PACE_SESSION_OPTIONS_INIT;
    pace_option options[] = {PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 3),
                             PACE_OPTION_REAL(PACE_OPT_AVERAGE_ALPHA, 0.5),
                             PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "dynamic"),
                             PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, NULL, 0)};
    pace_session_info session = PACE_SESSION_INFO_INIT;
    pace_progress progress = PACE_PROGRESS_INIT;
    pace_buffer_options buffer = PACE_BUFFER_OPTIONS_INIT;
    pace_buffer_info buffer_info = PACE_BUFFER_INFO_INIT;
    pace_request_info request = PACE_REQUEST_INFO_INIT;
    pace_wait_options wait = PACE_WAIT_OPTIONS_INIT;
    pace_average_options average = PACE_AVERAGE_OPTIONS_INIT;
    pace_reduce_options reduce = PACE_REDUCE_OPTIONS_INIT;
    pace_push_options push = PACE_PUSH_OPTIONS_INIT;
    pace_pull_options pull = PACE_PULL_OPTIONS_INIT;
    pace_broadcast_options broadcast = PACE_BROADCAST_OPTIONS_INIT;
    pace_sync_options sync = PACE_SYNC_OPTIONS_INIT;
    pace_barrier_options barrier = PACE_BARRIER_OPTIONS_INIT;
    pace_checkpoint_options checkpoint = PACE_CHECKPOINT_OPTIONS_INIT;
    pace_residual_options residual = PACE_RESIDUAL_OPTIONS_INIT;
    pace_buffer none = {0, 0, 0};
    pace_slice slice = PACE_WHOLE(none);
    return (size_t)open.struct_size + sizeof(options) + session.struct_size + buffer.struct_size +
           buffer_info.struct_size + request.struct_size + wait.struct_size +
           average.call.struct_size + reduce.call.struct_size + push.call.struct_size +
           pull.call.struct_size + broadcast.call.struct_size + sync.call.struct_size +
           barrier.call.struct_size + checkpoint.call.struct_size + residual.call.struct_size +
           progress.struct_size + (size_t)slice.first;
}
