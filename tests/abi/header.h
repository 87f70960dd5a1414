/* What header.c and header.cpp have in common: pace.h first and alone, then every INIT macro. */
#include <pace.h>

static size_t sizes(void) {
    pace_session_options open = PACE_SESSION_OPTIONS_INIT;
    pace_option options[] = {PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 3),
                             PACE_OPTION_REAL(PACE_OPT_AVERAGE_ALPHA, 0.5),
                             PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "dynamic"),
                             PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, NULL, 0)};
    pace_session_info session = PACE_SESSION_INFO_INIT;
    pace_buffer_options buffer = PACE_BUFFER_OPTIONS_INIT;
    pace_buffer_info buffer_info = PACE_BUFFER_INFO_INIT;
    pace_request_info request = PACE_REQUEST_INFO_INIT;
    pace_wait_options wait = PACE_WAIT_OPTIONS_INIT;
    pace_average_options average = PACE_AVERAGE_OPTIONS_INIT;
    pace_reduce_options reduce = PACE_REDUCE_OPTIONS_INIT;
    pace_push_options push = PACE_PUSH_OPTIONS_INIT;
    pace_pull_options pull = PACE_PULL_OPTIONS_INIT;
    return (size_t)open.struct_size + sizeof(options) + session.struct_size + buffer.struct_size +
           buffer_info.struct_size + request.struct_size + wait.struct_size + average.struct_size +
           reduce.struct_size + push.struct_size + pull.struct_size;
}
