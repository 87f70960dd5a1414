// Routes: which handler answers a path, who may ask it, and with which method.
//
// A path is compared segment by segment. A segment "*" matches any one segment. The handler finds
// the matched segment, decoded, in Request::names. Example: "/api/nodes/*/drain".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/http/message.h"

namespace pace::http {

enum class Access : uint8_t {
    anyone,  // without a token, for checks whether the process lives
    // With the reader's token or the operator's. If the server has no reader's token: the users of
    // this machine who may read, or whoever reaches a server off loopback.
    reader,
    operator_only,  // with the operator's token only
};

class Routes {
  public:
    // For GET and HEAD.
    void get(std::string path, Handler handler, Access access = Access::reader);
    void get_deferred(std::string path, DeferredHandler handler, Access access = Access::reader);
    // For POST, with the operator's token.
    void post(std::string path, Handler handler);

    struct Route {
        std::string method;
        std::string path;
        Access access = Access::reader;
        DeferredHandler handler;
    };
    struct Found {
        const Route* route = nullptr;    // null: no route with this method
        std::vector<std::string> names;  // the segments that the stars matched
        std::string allowed;             // the path's methods; empty: no such path
    };
    // `path` is as received, percent-encoded. HEAD finds what GET finds.
    Found find(std::string_view method, std::string_view path) const;

  private:
    std::vector<Route> routes_;
};

}  // namespace pace::http
