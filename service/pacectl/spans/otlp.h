// Spans as requests of OTLP over HTTP in JSON, which OpenTelemetry's collectors take
// (https://opentelemetry.io/docs/specs/otlp/).
//
// A trace is one exchange of a job, with the spans of all its ranks, or one call that no exchange
// served. Each rank has a span "step" in the trace, without a parent, whose children are what the
// rank did in the step. Identifiers are made of names and numbers alone: several nodes give the
// same trace, and a span that is sent again has the same identifier.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "service/pacectl/spans/span.h"

namespace pace::pacectl {

constexpr size_t kOtlpSpansMax = 1000;  // of one request

// Calls `send` with each request and the number of its spans, until one of them fails. A step that
// has not ended is left out, since its spans would be sent again later, with other ends.
// `to_unix_us` is what is to be added to a time of the spans.
using SendOtlp = std::function<base::Result<>(const Json& request, size_t spans)>;
base::Result<> for_each_otlp_request(const std::vector<Span>& spans, int64_t to_unix_us,
                                     const SendOtlp& send);

}  // namespace pace::pacectl
