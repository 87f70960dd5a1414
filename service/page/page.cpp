#include "service/page/page.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "service/page/assets.h"

namespace pace::page {

namespace {

constexpr std::string_view kFolder = "/assets/";
constexpr std::string_view kFirst = "index.html";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

std::string_view type_of(std::string_view name) {
    const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                     [&](const auto& type) { return name.ends_with(type.first); });
    return found == kTypes.end() ? "application/octet-stream" : found->second;
}

// Returns an empty name if no asset can have the name.
std::string_view name_of(std::string_view path) {
    if (path == "/") return kFirst;
    if (!path.starts_with(kFolder)) return {};
    return path.substr(kFolder.size());
}

}  // namespace

http::Response page(std::string_view path) {
    const std::string_view name = name_of(path);
    const auto all = assets();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Asset& asset) { return asset.name == name; });
    if (found == all.end()) {
        http::Response missing;
        missing.status = 404;
        missing.body = "the status page has no such file; it begins at /\n";
        return missing;
    }
    http::Response response;
    response.type = type_of(found->name);
    response.body = found->bytes;
    // The page of an upgraded controller has other files. So the browser must ask again each time
    // the page is opened.
    response.headers = {{"Content-Security-Policy", std::string(kPolicy)},
                        {"Cache-Control", "no-cache"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"X-Frame-Options", "DENY"},
                        {"Cross-Origin-Resource-Policy", "same-origin"},
                        {"Referrer-Policy", "no-referrer"}};
    return response;
}

}  // namespace pace::page
