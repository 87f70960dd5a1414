#include "service/http/server/library.h"

#include <strings.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pace::http {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kHeaders{{
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
}};

std::string_view text_of(const char* text) {
    return text == nullptr ? std::string_view{} : std::string_view(text);
}

// Takes the headers that the gate reads.
MHD_Result add_header(void* into, MHD_ValueKind, const char* name, const char* value) {
    return guarded([&] {
        Head& head = *static_cast<Head*>(into);
        const auto is = [name](const char* other) { return strcasecmp(name, other) == 0; };
        if (is("Host")) head.hosts.push_back(text_of(value));
        if (is("Authorization")) head.authorization = text_of(value);
        if (is("Accept")) head.accept = text_of(value);
        if (is("Content-Length")) head.content_length = text_of(value);
        if (is("Transfer-Encoding")) head.has_transfer_encoding = true;
        return MHD_YES;
    });
}

MHD_Result add_query(void* into, MHD_ValueKind, const char* name, const char* value) {
    return guarded([&] {
        static_cast<Head*>(into)->query.emplace_back(text_of(name), text_of(value));
        return MHD_YES;
    });
}

// An answer's body. It lives until the library has written it. Its bytes are counted in `unread`.
struct Body {
    std::string text;
    size_t* unread = nullptr;
};

void free_body(void* body) {
    const std::unique_ptr<Body> owned(static_cast<Body*>(body));
    *owned->unread -= owned->text.size();
}

void add_headers(MHD_Response* response, const Response& from) {
    MHD_add_response_header(response, "Content-Type", from.type.c_str());
    for (const auto& [name, value] : kHeaders) {
        bool replaced = false;
        for (const auto& header : from.headers)
            replaced = replaced || strcasecmp(header.first.c_str(), name) == 0;
        if (!replaced) MHD_add_response_header(response, name, value);
    }
    for (const auto& [name, value] : from.headers)
        MHD_add_response_header(response, name.c_str(), value.c_str());
}

}  // namespace

Head head_of(MHD_Connection* connection, const char* path, const char* method) {
    Head head;
    head.method = method;
    head.path = path;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &add_header, &head);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &add_query, &head);
    return head;
}

size_t leave_encoded(void*, MHD_Connection*, char* text) {
    return text_of(text).size();
}

ResponseHandle library_response(Response response, size_t& unread) {
    auto body = std::make_unique<Body>(Body{std::move(response.body), &unread});
    const size_t bytes = body->text.size();
    ResponseHandle handle(MHD_create_response_from_buffer_with_free_callback_cls(
        bytes, body->text.data(), &free_body, body.get()));
    if (!handle) return nullptr;
    unread += bytes;
    (void)body.release();  // free_body owns it now
    add_headers(handle.get(), response);
    return handle;
}

}  // namespace pace::http
