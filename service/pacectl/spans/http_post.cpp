#include "service/pacectl/spans/http_post.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

// CURLOPT_PROTOCOLS_STR, its successor, is not known to the libcurl of Enterprise Linux 9.
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr long kTimeoutMs = 10'000;
constexpr size_t kBodyMax = size_t{64} << 10U;

// The functions of libcurl, whose interface has not changed since its version 4 of the library.
struct Curl {
    decltype(&curl_global_init) global_init = nullptr;
    decltype(&curl_easy_init) easy_init = nullptr;
    decltype(&curl_easy_setopt) easy_setopt = nullptr;
    decltype(&curl_easy_perform) easy_perform = nullptr;
    decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
    decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
    decltype(&curl_easy_strerror) easy_strerror = nullptr;
    decltype(&curl_slist_append) slist_append = nullptr;
    decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

template <typename Function>
bool take_function(void* library, const char* name, Function*& ret_function) {
    ret_function = reinterpret_cast<Function*>(dlsym(library, name));
    return ret_function != nullptr;
}

Result<Curl> load_curl() {
    void* library = nullptr;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
        if (library == nullptr) library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr)
        return make_error(ErrorKind::not_found,
                          "libcurl cannot be loaded; install it (Debian: libcurl4): {}", dlerror());
    Curl curl;
    const bool is_whole = take_function(library, "curl_global_init", curl.global_init) &&
                          take_function(library, "curl_easy_init", curl.easy_init) &&
                          take_function(library, "curl_easy_setopt", curl.easy_setopt) &&
                          take_function(library, "curl_easy_perform", curl.easy_perform) &&
                          take_function(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                          take_function(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                          take_function(library, "curl_easy_strerror", curl.easy_strerror) &&
                          take_function(library, "curl_slist_append", curl.slist_append) &&
                          take_function(library, "curl_slist_free_all", curl.slist_free_all);
    if (!is_whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return make_error(ErrorKind::not_found, "this machine's libcurl cannot be used");
    return curl;
}

// Takes everything, and keeps the beginning.
size_t keep_body(const char* data, size_t size, size_t count, void* body) {
    auto& kept = *static_cast<std::string*>(body);
    kept.append(data, std::min(size * count, kBodyMax - kept.size()));
    return size * count;
}

}  // namespace

struct HttpPost::Session {
    Curl curl;
    CURL* handle = nullptr;
    curl_slist* headers = nullptr;
    std::array<char, CURL_ERROR_SIZE> error{};
    std::string body;

    explicit Session(const Curl& loaded) : curl(loaded), handle(loaded.easy_init()) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        if (handle != nullptr) curl.easy_cleanup(handle);
        curl.slist_free_all(headers);
    }

    template <typename Value>
    bool set(CURLoption option, Value value) {
        return curl.easy_setopt(handle, option, value) == CURLE_OK;
    }
    bool add_header(const std::string& header) {
        curl_slist* longer = curl.slist_append(headers, header.c_str());
        if (longer != nullptr) headers = longer;
        return longer != nullptr;
    }
    bool set_headers(const std::vector<std::string>& more);
    bool set_all(const Target& target);
};

// An empty "Expect:" has libcurl send the body at once.
bool HttpPost::Session::set_headers(const std::vector<std::string>& more) {
    return add_header("Content-Type: application/json") && add_header("Expect:") &&
           std::all_of(more.begin(), more.end(),
                       [this](const std::string& header) { return add_header(header); }) &&
           set(CURLOPT_HTTPHEADER, headers);
}

bool HttpPost::Session::set_all(const Target& target) {
    constexpr long kProtocols = CURLPROTO_HTTP | CURLPROTO_HTTPS;
    return set(CURLOPT_URL, target.url.c_str()) && set(CURLOPT_PROTOCOLS, kProtocols) &&
           set(CURLOPT_FOLLOWLOCATION, 0L) && set(CURLOPT_SSL_VERIFYPEER, 1L) &&
           set(CURLOPT_SSL_VERIFYHOST, 2L) && set(CURLOPT_TIMEOUT_MS, kTimeoutMs) &&
           set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_ERRORBUFFER, error.data()) &&
           set(CURLOPT_USERAGENT, "pacectl/" PACE_VERSION) && set(CURLOPT_POST, 1L) &&
           set(CURLOPT_WRITEFUNCTION, &keep_body) && set(CURLOPT_WRITEDATA, &body) &&
           (target.certificates.empty() || set(CURLOPT_CAINFO, target.certificates.c_str())) &&
           set_headers(target.headers);
}

HttpPost::HttpPost(std::unique_ptr<Session> session) : session_(std::move(session)) {}
HttpPost::HttpPost(HttpPost&&) noexcept = default;
HttpPost& HttpPost::operator=(HttpPost&&) noexcept = default;
HttpPost::~HttpPost() = default;

Result<HttpPost> HttpPost::open(Target target) {
    PACE_TRY_ASSIGN(curl, load_curl());
    auto session = std::make_unique<Session>(curl);
    if (session->handle == nullptr || !session->set_all(target))
        return make_error(ErrorKind::invalid, "this machine's libcurl cannot post to {}",
                          target.url);
    return HttpPost(std::move(session));
}

Result<HttpPost::Answer> HttpPost::post(const std::string& json) {
    Session& session = *session_;
    session.body.clear();
    session.error.front() = '\0';
    session.set(CURLOPT_POSTFIELDS, json.data());
    session.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    const CURLcode code = session.curl.easy_perform(session.handle);
    if (code != CURLE_OK) {
        const char* why =
            session.error.front() != '\0' ? session.error.data() : session.curl.easy_strerror(code);
        return make_error(ErrorKind::aborted, "{}", why);
    }
    Answer answer;
    session.curl.easy_getinfo(session.handle, CURLINFO_RESPONSE_CODE, &answer.status);
    answer.body = session.body;
    return answer;
}

}  // namespace pace::pacectl
