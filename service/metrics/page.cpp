#include "service/metrics/page.h"

#include <memory>
#include <utility>

#include "service/metrics/metrics.h"
#include "service/metrics/process_metrics.h"

namespace pace::metrics {

namespace {

constexpr int kShare = 20;

// What the loop's thread has collected for the other thread.
struct Taken {
    Exposition metrics;
    std::string status;  // empty: no document
    std::string daemon;
};

std::string text_of(Taken& taken) {
    add_process(taken.metrics);
    if (const Json status = parse(taken.status); status.is_object())
        add_cluster(taken.metrics, status);
    if (const Json daemon = parse(taken.daemon); daemon.is_object())
        add_daemon(taken.metrics, daemon);
    return taken.metrics.text();
}

http::Response response_of(Format format, std::string text) {
    http::Response response;
    response.type = content_type(format);
    response.body = std::move(text);
    return response;
}

}  // namespace

void Page::answer(const http::Request& request, http::Reply reply) {
    const Format format = format_for(request.accept);
    Kept& kept = kept_[static_cast<size_t>(format)];
    if (base::now() < kept.good_until) {
        reply(response_of(format, kept.text));
        return;
    }
    kept.waiting.push_back(std::move(reply));
    if (kept.waiting.size() == 1) make(format);
}

void Page::make(Format format) {
    const auto taken = std::make_shared<Taken>(Taken{Exposition(format), {}, {}});
    if (sources_.of_process) sources_.of_process(taken->metrics);
    if (sources_.status) taken->status = sources_.status();
    if (sources_.daemon) taken->daemon = sources_.daemon();
    const auto took = std::make_shared<base::Duration>();  // processor time
    const auto work = [taken, took, format] {
        const base::Duration begin = base::thread_cpu_time();
        http::Response response = response_of(format, text_of(*taken));
        *took = base::thread_cpu_time() - begin;
        return response;
    };
    aside_.run(work, [this, took, format](const http::Response& response) {
        made(format, response, *took);
    });
}

// All clients that have asked meanwhile get the same text.
void Page::made(Format format, const http::Response& response, base::Duration took) {
    Kept& kept = kept_[static_cast<size_t>(format)];
    if (response.status == 200) {
        kept.text = response.body;
        kept.good_until = base::now() + took * kShare;
    }
    for (const http::Reply& reply : std::exchange(kept.waiting, {})) reply(response);
}

void add_metrics(http::Routes& routes, Page& page) {
    routes.get_deferred("/metrics", [&page](const http::Request& request, http::Reply reply) {
        page.answer(request, std::move(reply));
    });
}

}  // namespace pace::metrics
