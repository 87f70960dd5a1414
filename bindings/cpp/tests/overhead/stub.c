/* stub: a libpace that does next to nothing, so that the count shows the cost of the binding. */
#include <pace.h>
#include <string.h>

static uint64_t last_request;

pace_status pace_session_open(const pace_session_options* options, pace_session** ret_session,
                              pace_error* error) {
    static char session;
    (void)options, (void)error;
    *ret_session = (pace_session*)&session;
    return PACE_OK;
}

void pace_session_free(pace_session* session) {
    (void)session;
}

pace_status pace_buffer_create(pace_session* session, int32_t type, uint64_t count,
                               const pace_buffer_options* options, pace_buffer* ret_buffer,
                               void** ret_data, pace_error* error) {
    static double memory;
    const pace_buffer made = {1, 1, 1};
    (void)session, (void)type, (void)count, (void)options, (void)error;
    *ret_buffer = made;
    *ret_data = &memory;
    return PACE_OK;
}

pace_status pace_buffer_free(pace_session* session, pace_buffer buffer, pace_error* error) {
    (void)session, (void)buffer, (void)error;
    return PACE_OK;
}

pace_status pace_average(pace_session* session, const pace_slice* slices, size_t count,
                         const pace_average_options* options, pace_request* ret_request,
                         pace_error* error) {
    (void)session, (void)slices, (void)error;
    if (count != 1) return PACE_E_INVALID;
    ret_request->session = 1;
    last_request = ret_request->id = options->call.iteration + 1;
    return PACE_OK;
}

pace_status pace_request_wait(pace_session* session, pace_request request, int64_t timeout_ms,
                              const pace_wait_options* options, pace_request_info* ret_info,
                              pace_error* error) {
    (void)session, (void)timeout_ms, (void)options, (void)error;
    if (request.id != last_request) return PACE_E_HANDLE;
    ret_info->status = PACE_OK;
    ret_info->iteration = request.id;
    return PACE_OK;
}

pace_status pace_request_cancel(pace_session* session, pace_request request, pace_error* error) {
    (void)session, (void)request, (void)error;
    return PACE_OK;
}

const char* pace_status_name(pace_status status) {
    return status == PACE_OK ? "PACE_OK" : "PACE_?";
}
