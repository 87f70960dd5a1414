#include "service/page/status_page.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "service/page/page.h"
#include "service/page/status_document.h"

namespace pace::page {

namespace {

// Returns zero if the query has no such number.
int64_t number(const http::Request& request, const std::string& name) {
    const auto found = request.query.find(name);
    if (found == request.query.end()) return 0;
    int64_t value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto read = std::from_chars(found->second.data(), end, value);
    return read.ec == std::errc() && read.ptr == end && value > 0 ? value : 0;
}

}  // namespace

StatusPage::StatusPage(base::EventLoop& loop, std::function<std::string()> status)
    : loop_(loop), status_(std::move(status)) {
    timer_ = loop_.run_after(base::Duration::zero(), [this] { sample(); });
}

void StatusPage::sample() {
    timer_ = loop_.run_after(History::kStep, [this] { sample(); });
    const Samples samples = samples_of(status_());
    history_.add(samples.clock_us, samples.jobs);
}

http::Response StatusPage::history(const http::Request& request) const {
    const auto name = request.query.find("job");
    return http::json_answer(history_.json(
        number(request, "since"), name == request.query.end() ? std::string() : name->second));
}

void StatusPage::add_to(http::Routes& routes) {
    const auto file = [](const http::Request& request) { return page(request.path); };
    routes.get("/", file, http::Access::anyone);
    routes.get("/assets/*", file, http::Access::anyone);
    routes.get("/api/history", [this](const http::Request& request) { return history(request); });
    routes.get("/api/role", [](const http::Request& request) {
        return http::json_answer(request.is_operator ? R"({"operator":true})"
                                                     : R"({"operator":false})");
    });
}

}  // namespace pace::page
