/* Exceptions inside libpace.so are thrown, unwound and caught by what it brings of C++ itself: the
 * program here is C. */
#include <pace.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes);

/* This malloc is the whole process's, libpace's too. */
static int has_memory = 1;

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
    return has_memory ? __libc_malloc(bytes) : NULL;
}

int main(void) {
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    pace_session* session = NULL;
    pace_error error;
    pace_status status;

    memset(&error, 0, sizeof(error));
    where.endpoint = "unix:/nonexistent/pace.sock";
    where.job = "a-name-that-is-too-long-to-be-kept-without-memory";
    where.policy = PACE_POLICY_FULL;
    where.world = 1;
    has_memory = 0;
    status = pace_session_open(&where, &session, &error);
    has_memory = 1;
    printf("%s: %s\n", pace_status_name(status), error.message);
    return status == PACE_E_MEMORY && session == NULL ? 0 : 1;
}
