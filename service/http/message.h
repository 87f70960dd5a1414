// What a handler is asked and what it answers: plain values, without a word of the library that moves them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pace::http {

struct Request {
    std::string method;  // "GET" or "POST"; HEAD comes as GET, and its answer's body is not sent
    std::string path;    // decoded, without the query
    std::map<std::string, std::string> query;  // decoded; of a name that comes twice the first
    std::string body;                          // of a POST
    bool is_operator = false;                  // the operator's token came with it
    std::vector<std::string> names;  // what the stars of the route stand for, in their order
    std::string accept;              // the header Accept; empty: none
};

struct Response {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    // Beside those that the server sends with every answer (server.h); one of these replaces one of the same name.
    std::vector<std::pair<std::string, std::string>> headers;
};

inline Response json_answer(std::string body) {
    Response response;
    response.type = "application/json";
    response.body = std::move(body);
    return response;
}

// Called on the loop's thread. It must not block, and should take a few milliseconds at most.
using Handler = std::function<Response(const Request&)>;

// For answers that take longer: the reply is called on the loop's thread, at once or later, and does nothing once nobody waits for it
// any more. Without a reply the client is told so after Limits::answer_time_max.
using Reply = std::function<void(Response)>;
using DeferredHandler = std::function<void(const Request&, Reply)>;

}  // namespace pace::http
