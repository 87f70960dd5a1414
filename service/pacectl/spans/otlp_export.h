// Sends spans to an OpenTelemetry collector, for commands with --otlp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/pacectl/spans/span.h"

namespace pace::pacectl {

// Posts the steps that have ended, and says how many spans that were, or what went wrong. `url`:
// as --otlp gives it. `to_unix_us`: what is to be added to a time of the spans. The environment
// variables OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE are honoured. Gives the
// exit code.
int export_spans(const std::string& url, const std::vector<Span>& spans, int64_t to_unix_us);

}  // namespace pace::pacectl
