#include "service/http/routes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "service/http/uri.h"

namespace pace::http {

namespace {

std::vector<std::string_view> segments_of(std::string_view path) {
    std::vector<std::string_view> segments;
    for (size_t begin = 0; begin <= path.size();) {
        const size_t end = std::min(path.find('/', begin), path.size());
        segments.push_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    return segments;
}

// Returns the segments of `path` that the stars of `pattern` match. Returns nothing if the path
// does not match.
std::optional<std::vector<std::string>> names_in(std::string_view pattern, std::string_view path) {
    const auto wanted = segments_of(pattern);
    const auto given = segments_of(path);
    if (wanted.size() != given.size()) return std::nullopt;
    std::vector<std::string> names;
    for (size_t i = 0; i < wanted.size(); ++i) {
        const auto text = decoded(given[i]);
        if (!text) return std::nullopt;
        if (wanted[i] == "*" && !text->empty()) {
            names.push_back(*text);
        } else if (*text != wanted[i]) {
            return std::nullopt;
        }
    }
    return names;
}

DeferredHandler at_once(Handler handler) {
    return [handler = std::move(handler)](const Request& request, const Reply& reply) {
        reply(handler(request));
    };
}

}  // namespace

void Routes::get(std::string path, Handler handler, Access access) {
    get_deferred(std::move(path), at_once(std::move(handler)), access);
}

void Routes::get_deferred(std::string path, DeferredHandler handler, Access access) {
    routes_.push_back({"GET", std::move(path), access, std::move(handler)});
}

void Routes::post(std::string path, Handler handler) {
    routes_.push_back(
        {"POST", std::move(path), Access::operator_only, at_once(std::move(handler))});
}

Routes::Found Routes::find(std::string_view method, std::string_view path) const {
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    Found found;
    for (const Route& route : routes_) {
        auto names = names_in(route.path, path);
        if (!names) continue;
        if (!found.allowed.empty()) found.allowed += ", ";
        found.allowed += route.method == "GET" ? "GET, HEAD" : route.method;
        if (route.method != wanted || found.route != nullptr) continue;
        found.route = &route;
        found.names = std::move(*names);
    }
    return found;
}

}  // namespace pace::http
