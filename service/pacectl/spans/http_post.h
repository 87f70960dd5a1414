// HttpPost: posts JSON documents to one URL of http or https.
//
// It uses libcurl, which is loaded when the first HttpPost is opened: no other command of pacectl
// waits for it, and packages that run on several systems have that system's libcurl, with its
// certificates. Certificates are checked. Redirects are not followed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pace::pacectl {

class HttpPost {
  public:
    struct Target {
        std::string url;
        std::vector<std::string> headers;  // "name: value", besides Content-Type
        std::string certificates;          // a file of those to trust; empty: the system's
    };
    struct Answer {
        long status = 0;
        std::string body;  // at most its first 64 KiB
    };

    // Connects to nobody yet. Fails if there is no libcurl.
    static base::Result<HttpPost> open(Target target);
    HttpPost(HttpPost&&) noexcept;
    HttpPost& operator=(HttpPost&&) noexcept;
    ~HttpPost();

    // Blocks for at most 10 s. Fails if no answer comes; an answer may have any status.
    base::Result<Answer> post(const std::string& json);

  private:
    struct Session;
    explicit HttpPost(std::unique_ptr<Session> session);

    std::unique_ptr<Session> session_;
};

}  // namespace pace::pacectl
