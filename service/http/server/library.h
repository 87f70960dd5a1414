// Converts libmicrohttpd's requests and responses to this server's types. For server.cpp alone.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>

#include <microhttpd.h>

#include "base/attempt.h"
#include "base/log/log.h"
#include "service/http/gate.h"
#include "service/http/message.h"

namespace pace::http {

// The library's callbacks are C, so no exception may leave them.
template <typename Work>
MHD_Result guarded(Work&& work) {
    MHD_Result result = MHD_NO;
    try {
        if (!base::attempt([&] { result = work(); })) return MHD_NO;
    } catch (const std::exception& error) {
        base::log_error("a handler of HTTP failed, which is a defect", {{"because", error.what()}});
        return MHD_NO;
    }
    return result;
}

// The texts belong to the connection.
Head head_of(MHD_Connection* connection, const char* path, const char* method);

// An MHD_UNESCAPE_CALLBACK that decodes nothing. The gate decodes, and refuses text that is not
// well-formed.
size_t leave_encoded(void*, MHD_Connection*, char* text);

struct DestroyResponse {
    void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using ResponseHandle = std::unique_ptr<MHD_Response, DestroyResponse>;

// Adds the headers that go with every answer. The body counts in `unread` until the library has
// written it. Returns null if there is no memory.
ResponseHandle library_response(Response response, size_t& unread);

}  // namespace pace::http
