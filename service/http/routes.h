// Routes: which handler answers which path, who may ask it, and with which method.
//
// A path is compared segment by segment. A segment "*" stands for any one segment, which the handler finds, decoded, in
// Request::names: "/api/nodes/*/drain".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/http/message.h"

namespace pace::http {

enum class Access : uint8_t {
    anyone,         // without a token, for those who look whether the process lives
    reader,         // with the token, if the server has one; the operator's does as well
    operator_only,  // with the operator's token alone
};

class Routes {
  public:
    // GET and HEAD.
    void get(std::string path, Handler handler, Access access = Access::reader);
    void get_deferred(std::string path, DeferredHandler handler, Access access = Access::reader);
    // POST, for whoever has the operator's token.
    void post(std::string path, Handler handler);

    struct Route {
        std::string method;
        std::string path;
        Access access = Access::reader;
        DeferredHandler handler;
    };
    struct Found {
        const Route* route = nullptr;    // null: none of this method
        std::vector<std::string> names;  // what its stars stand for
        std::string allowed;             // methods that the path has; empty: no such path
    };
    // `path` as it came, percent-encoded. HEAD finds what GET does.
    Found find(std::string_view method, std::string_view path) const;

  private:
    std::vector<Route> routes_;
};

}  // namespace pace::http
