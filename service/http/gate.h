// Gate: decides from a request's head which handler answers the request, and how other requests are
// refused. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/http/local_users.h"
#include "service/http/message.h"
#include "service/http/routes.h"

namespace pace::http {

// The head of a request: what comes before its body.
struct Head {
    std::string_view method;
    std::string_view path;  // as received: percent-encoded, without the query
    // As received, percent-encoded.
    std::vector<std::pair<std::string_view, std::string_view>> query;
    std::vector<std::string_view> hosts;  // all headers of this name
    std::string_view authorization;
    std::string_view accept;
    std::string_view content_length;
    bool has_transfer_encoding = false;
    // On loopback: the user who sends the request. Nothing if the kernel does not tell.
    std::optional<uid_t> user;
};

class Gate {
  public:
    struct Rules {
        bool is_on_loopback = true;
        std::string own_name;        // this machine's name
        LocalUsers users = {};       // who may read on loopback if there is no token
        std::string token;           // empty: readers need no token
        std::string operator_token;  // empty: nobody is an operator
        size_t body_bytes_max = 0;
        size_t query_names_max = 0;
    };
    Gate(Rules rules, Routes routes) : rules_(std::move(rules)), routes_(std::move(routes)) {}

    struct Admission {
        const Routes::Route* route = nullptr;
        Request request;  // everything except the body
    };
    // Whether Head::user decides who may read.
    bool asks_for_user() const {
        return rules_.is_on_loopback && rules_.token.empty() && !rules_.users.has_everyone();
    }
    // Returns the route that answers, or the answer.
    std::pair<Admission, std::optional<Response>> admit(const Head& head) const;

  private:
    std::optional<Response> check_form(const Head& head) const;
    std::optional<Response> check_host(const Head& head) const;
    std::optional<Response> check_token(const Head& head, Access access) const;
    std::optional<Response> check_user(const Head& head) const;

    Rules rules_;
    Routes routes_;
};

// Makes an answer of one line.
Response refusal(int status, std::string line);

}  // namespace pace::http
