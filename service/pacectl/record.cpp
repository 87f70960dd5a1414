#include "service/pacectl/record.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "libclient/endpoint.h"
#include "service/pacectl/output.h"
#include "service/pacectl/recording_trace.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

Result<Json> read_json(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return make_error(ErrorKind::not_found, "{} cannot be read", path);
    Json document = Json::parse(text.view(), nullptr, false);
    if (!document.is_object()) return make_error(ErrorKind::corrupt, "{} is no JSON object", path);
    return document;
}

Result<> add_file(const std::string& path, RecordingTrace& trace) {
    PACE_TRY_ASSIGN(document, read_json(path));
    if (auto added = trace.add(document); !added)
        return make_error(added.error().kind, "{}: {}", path, added.error().message);
    return {};
}

Result<> add_daemon(const std::string& named, RecordingTrace& trace) {
    PACE_TRY_ASSIGN(endpoint, client::resolve_endpoint(named.empty() ? nullptr : named.c_str()));
    PACE_TRY_ASSIGN(document, fetch_document(endpoint, "recorder"));
    return trace.add(document);
}

int write_out(const std::string& output, const RecordingTrace& trace) {
    const std::string written = trace.chrome().dump(-1, ' ', true, Json::error_handler_t::replace);
    if (output.empty()) return print(written + "\n");
    std::ofstream file(output);
    file << written << '\n';
    file.close();
    if (!file) return say_error(base::make_errno_error(errno, "write the trace to " + output));
    return print(fmt::format("{}: {} events of {} {}; open it at https://ui.perfetto.dev\n{}",
                             output, trace.events(), trace.nodes(),
                             trace.nodes() == 1 ? "node" : "nodes",
                             trace.is_exact() ? ""
                                              : "not every node knew the controller's clock: the "
                                                "nodes' times are as near as their wall clocks\n"));
}

}  // namespace

int write_recording(const std::string& endpoint, const RecordOptions& options) {
    RecordingTrace trace;
    if (options.merge.empty()) {
        if (const auto added = add_daemon(endpoint, trace); !added) return say_error(added.error());
    }
    for (const std::string& path : options.merge)
        if (const auto added = add_file(path, trace); !added) return say_error(added.error());
    return write_out(options.output, trace);
}

}  // namespace pace::pacectl
