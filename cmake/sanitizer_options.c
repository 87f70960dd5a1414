/* What the sanitizers are told in every program of a sanitizer build, so that the tests need no
 * environment.
 *
 * UCX, ZeroMQ and their kin are not instrumented: what they do to their own memory between their
 * own threads cannot be seen as ordered. Their frees and races are theirs; ours are reported. */

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const char* __asan_default_options(void);
EXPORTED const char* __ubsan_default_options(void);
EXPORTED const char* __tsan_default_options(void);
EXPORTED const char* __tsan_default_suppressions(void);
EXPORTED const char* __lsan_default_suppressions(void);

const char* __asan_default_options(void) {
    return "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1:"
           "allow_user_segv_handler=1";
}

const char* __ubsan_default_options(void) {
    return "print_stacktrace=1";
}

const char* __tsan_default_options(void) {
    return "second_deadlock_stack=1:history_size=4";
}

/* ld-linux ends the libraries. Its functions have no names where the C library's debug symbols are
 * not installed. */
const char* __tsan_default_suppressions(void) {
    return "called_from_lib:libucs.so\n"
           "called_from_lib:libucp.so\n"
           "called_from_lib:libuct.so\n"
           "called_from_lib:libzmq.so\n"
           "called_from_lib:libsodium.so\n"
           "mutex:ld-linux\n"
           "race:libzmq.so\n"
           "race:libucs.so\n"
           "race:libucp.so\n"
           "race:libuct.so\n";
}

const char* __lsan_default_suppressions(void) {
    return "leak:libucs.so\n"
           "leak:libucp.so\n"
           "leak:libuct.so\n"
           "leak:libzmq.so\n";
}
