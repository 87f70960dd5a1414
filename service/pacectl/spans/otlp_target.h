// Where spans are sent, as the command line and OpenTelemetry's environment variables say it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pace::pacectl {

// The URL that is posted to: the given one, with the path /v1/traces if it has none. Fails for what
// is no URL of http or https, and for one with a user or password, which others could read in the
// list of processes.
base::Result<std::string> otlp_url(std::string_view given);

// The headers "name: value" of OTEL_EXPORTER_OTLP_HEADERS: "key=value,key=value" with
// percent-encoded values. Errors name no value, which may be a secret.
base::Result<std::vector<std::string>> otlp_headers(std::string_view listed);

}  // namespace pace::pacectl
