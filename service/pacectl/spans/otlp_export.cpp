#include "service/pacectl/spans/otlp_export.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/spans/http_post.h"
#include "service/pacectl/spans/otlp.h"
#include "service/pacectl/spans/otlp_target.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr size_t kBodyShownMax = 200;

std::string environment(const char* name) {
    const char* value = secure_getenv(name);
    return value == nullptr ? "" : value;
}

Result<HttpPost> open_post(const std::string& url) {
    HttpPost::Target target;
    target.url = url;
    PACE_TRY_ASSIGN(headers, otlp_headers(environment("OTEL_EXPORTER_OTLP_HEADERS")));
    target.headers = std::move(headers);
    target.certificates = environment("OTEL_EXPORTER_OTLP_CERTIFICATE");
    return HttpPost::open(std::move(target));
}

// A number of 64 bits is text in the JSON of protocol buffers; some collectors write a number.
uint64_t rejected_spans(const Json& partial) {
    const Json& rejected = member(partial, "rejectedSpans");
    if (rejected.is_string())
        return std::strtoull(rejected.get_ref<const std::string&>().c_str(), nullptr, 10);
    return count(partial, "rejectedSpans");
}

// A collector that took all may still have something to say.
Result<> check_answer(const std::string& url, const HttpPost::Answer& answer) {
    if (answer.status < 200 || answer.status > 299)
        return make_error(ErrorKind::aborted, "{} answers with status {}: {}", url, answer.status,
                          printable(std::string_view(answer.body).substr(0, kBodyShownMax)));
    const Json document = Json::parse(answer.body, nullptr, false);
    const Json& partial = member(document, "partialSuccess");
    const std::string why = text(partial, "errorMessage", "");
    if (const uint64_t rejected = rejected_spans(partial); rejected > 0)
        return make_error(ErrorKind::aborted, "{} has rejected {} spans: {}", url, rejected, why);
    if (!why.empty()) say(fmt::format("{} says: {}", url, why));
    return {};
}

Result<> post_request(const std::string& url, HttpPost& post, const Json& request) {
    auto answer = post.post(request.dump(-1, ' ', true, Json::error_handler_t::replace));
    if (!answer)
        return make_error(answer.error().kind, "cannot post to {}: {}", url,
                          answer.error().message);
    return check_answer(url, *answer);
}

Result<size_t> send_all(const std::string& url, const std::vector<Span>& spans,
                        int64_t to_unix_us) {
    PACE_TRY_ASSIGN(post, open_post(url));
    size_t sent = 0;
    PACE_TRY(for_each_otlp_request(spans, to_unix_us, [&](const Json& request, size_t of_request) {
        sent += of_request;
        return post_request(url, post, request);
    }));
    return sent;
}

}  // namespace

int export_spans(const std::string& url, const std::vector<Span>& spans, int64_t to_unix_us) {
    const auto whole_url = otlp_url(url);
    if (!whole_url) {
        say(whole_url.error().message);
        return kWrongUse;
    }
    const auto sent = send_all(*whole_url, spans, to_unix_us);
    if (!sent) return say_error(sent.error());
    return print(fmt::format("{}: {} spans\n", *whole_url, *sent));
}

}  // namespace pace::pacectl
