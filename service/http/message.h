// The request that a handler gets and the response that it returns. They are plain values and do
// not depend on the library that transfers them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pace::http {

struct Request {
    std::string method;  // "GET" or "POST"; HEAD comes as GET, without an answer body
    std::string path;    // decoded, without the query
    std::map<std::string, std::string> query;  // decoded; the first of repeated names
    std::string body;                          // of a POST
    bool is_operator = false;                  // the operator's token was given
    std::vector<std::string> names;  // the segments that the route's stars matched, in order
    std::string accept;              // the header Accept; empty if absent
};

struct Response {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    // Headers in addition to those that the server sends with every answer (server.h). A header
    // here replaces the server's header of the same name.
    std::vector<std::pair<std::string, std::string>> headers;
};

inline Response json_answer(std::string body) {
    Response response;
    response.type = "application/json";
    response.body = std::move(body);
    return response;
}

// Called on the loop's thread. It must not block, and should take at most a few milliseconds.
using Handler = std::function<Response(const Request&)>;

// For answers that take longer. The reply is called on the loop's thread, at once or later. It does
// nothing if no client waits for it any more. If no reply comes within Limits::answer_time_max, the
// client is told so.
using Reply = std::function<void(Response)>;
using DeferredHandler = std::function<void(const Request&, Reply)>;

}  // namespace pace::http
