// How libmicrohttpd's requests and responses become ours. For server.cpp alone.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>

#include <microhttpd.h>

#include "base/attempt.h"
#include "base/log.h"
#include "service/http/gate.h"
#include "service/http/message.h"

namespace pace::http {

// The library calls back in C, and knows nothing of exceptions.
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

// The texts are the connection's.
Head head_of(MHD_Connection* connection, const char* path, const char* method);

// An MHD_UNESCAPE_CALLBACK: the gate decodes, and refuses what is not well-formed.
size_t leave_encoded(void*, MHD_Connection*, char* text);

struct DestroyResponse {
    void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using ResponseHandle = std::unique_ptr<MHD_Response, DestroyResponse>;

// With the headers that go with every answer. Its body counts in `unread` for as long as the library writes it. Null if there is no
// memory.
ResponseHandle library_response(Response response, size_t& unread);

}  // namespace pace::http
