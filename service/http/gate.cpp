#include "service/http/gate.h"

#include <charconv>

#include <fmt/format.h>

#include "service/http/secret.h"
#include "service/http/uri.h"

namespace pace::http {

namespace {

// How many bytes of a client's own text are repeated.
constexpr size_t kEchoedMax = 64;

std::string echoed(std::string_view text) {
    std::string safe(text.substr(0, kEchoedMax));
    for (char& c : safe)
        if (c < 0x20 || c >= 0x7F) c = '?';
    return safe;
}

}  // namespace

Response refusal(int status, std::string line) {
    Response response;
    response.status = status;
    response.body = std::move(line) + "\n";
    return response;
}

std::pair<Gate::Admission, std::optional<Response>> Gate::admit(const Head& head) const {
    Admission admission;
    if (auto wrong = check_host(head)) return {admission, std::move(wrong)};
    if (auto wrong = check_form(head)) return {admission, std::move(wrong)};
    Routes::Found found = routes_.find(head.method, head.path);
    if (found.allowed.empty()) return {admission, refusal(404, "there is no such page")};
    if (found.route == nullptr) {
        Response wrong = refusal(405, fmt::format("this page knows {} alone", found.allowed));
        wrong.headers.emplace_back("Allow", found.allowed);
        return {admission, std::move(wrong)};
    }
    if (auto wrong = check_token(head, found.route->access)) return {admission, std::move(wrong)};
    Request& request = admission.request;
    for (const auto& [name, value] : head.query) {
        auto clear_name = decoded(name);
        auto clear_value = decoded(value);
        if (!clear_name || !clear_value)
            return {admission, refusal(400, "the query is not well percent-encoded")};
        request.query.try_emplace(std::move(*clear_name), std::move(*clear_value));
    }
    admission.route = found.route;
    request.method = found.route->method;
    request.path = *decoded(head.path);  // found a route, so it can be decoded
    request.names = std::move(found.names);
    request.accept = head.accept;
    request.is_operator = is_same_secret(bearer_token(head.authorization), rules_.operator_token);
    return {std::move(admission), std::nullopt};
}

// Protects against a foreign page whose name was made to resolve to this address. The name is then
// in the Host header.
std::optional<Response> Gate::check_host(const Head& head) const {
    if (head.hosts.size() > 1) return refusal(400, "there is more than one Host header");
    if (!rules_.is_on_loopback) return std::nullopt;
    if (head.hosts.empty()) return refusal(400, "there is no Host header");
    if (is_own_host(head.hosts.front(), rules_.own_name)) return std::nullopt;
    return refusal(403, fmt::format("the Host header says \"{}\", which is no name of this "
                                    "server; ask for localhost or 127.0.0.1",
                                    echoed(head.hosts.front())));
}

std::optional<Response> Gate::check_form(const Head& head) const {
    if (head.query.size() > rules_.query_names_max)
        return refusal(400, fmt::format("a query has at most {} names", rules_.query_names_max));
    if (head.has_transfer_encoding)
        return refusal(411, "a body comes with Content-Length, not with Transfer-Encoding");
    if (head.content_length.empty()) return std::nullopt;
    size_t bytes = 0;
    const char* end = head.content_length.data() + head.content_length.size();
    const auto [stopped, failed] = std::from_chars(head.content_length.data(), end, bytes);
    if (failed == std::errc::result_out_of_range ||
        (failed == std::errc{} && bytes > rules_.body_bytes_max))
        return refusal(413, fmt::format("a body has at most {} bytes", rules_.body_bytes_max));
    if (failed != std::errc{} || stopped != end) return refusal(400, "Content-Length is no number");
    return std::nullopt;
}

std::optional<Response> Gate::check_token(const Head& head, Access access) const {
    if (access == Access::anyone) return std::nullopt;
    const std::string_view given = bearer_token(head.authorization);
    // Both are always compared, so that the time does not reveal which token was compared.
    const bool is_operator = is_same_secret(given, rules_.operator_token);
    const bool is_reader = is_same_secret(given, rules_.token);
    if (is_operator) return std::nullopt;
    if (access == Access::reader && is_reader) return std::nullopt;
    if (access == Access::reader && rules_.token.empty()) return check_user(head);
    if (is_reader || rules_.operator_token.empty()) {
        if (access == Access::operator_only)
            return refusal(403, rules_.operator_token.empty()
                                    ? "nobody may do this here: http_operator_token_file is not set"
                                    : "this needs the operator's token");
    }
    Response wrong = refusal(401, given.empty() ? "this needs a token: Authorization: Bearer TOKEN"
                                                : "the token is not the right one");
    wrong.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"pace\"");
    return wrong;
}

std::optional<Response> Gate::check_user(const Head& head) const {
    if (!asks_for_user() || (head.user && rules_.users.has(*head.user))) return std::nullopt;
    if (!head.user)
        return refusal(403,
                       "the kernel does not say which user of this machine asks; set "
                       "http_token_file, or http_users = [\"*\"]");
    return refusal(403, fmt::format("user {} of this machine may not read here; have the operator "
                                    "name the user in http_users, or set http_token_file",
                                    *head.user));
}

}  // namespace pace::http
