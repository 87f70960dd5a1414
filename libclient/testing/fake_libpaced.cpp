// A libpaced.so for tests. Without a configuration it returns a socket that nobody serves. Any
// configuration is bad.
#include <sys/socket.h>

#include <cstddef>
#include <cstdio>

extern "C" __attribute__((visibility("default"))) int paced_embed_connect(const char* config_file,
                                                                          char* error,
                                                                          size_t error_bytes) {
    if (config_file != nullptr) {
        (void)snprintf(error, error_bytes, "%s is bad", config_file);
        return -1;
    }
    int ends[2];
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0 ? ends[0] : -1;
}
