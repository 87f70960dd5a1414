#include "service/pacectl/verbs/record.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "libclient/link/endpoint.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/recordings/cluster_recordings.h"
#include "service/pacectl/recordings/recording_trace.h"
#include "service/pacectl/spans/call_trace.h"
#include "service/pacectl/spans/otlp_export.h"

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

struct Recorded {
    RecordingTrace trace;
    std::vector<CallTrace> calls;  // of each daemon
};

Result<> add_document(const Json& document, Recorded& recorded) {
    PACE_TRY(recorded.calls.emplace_back().add(document));
    return recorded.trace.add(document);
}

// Each node's spans have the times of its own clock.
int send_calls(const std::string& url, const Recorded& recorded) {
    const auto all_jobs = [](const std::string&) { return true; };
    for (const CallTrace& calls : recorded.calls)
        if (const int code = export_spans(url, calls.spans(all_jobs), calls.to_unix_us());
            code != 0)
            return code;
    return 0;
}

Result<> add_node(const std::string& node, uint64_t rows_max, client::ToolLink& link,
                  Recorded& recorded) {
    const auto ask = [&link](const std::string& name, uint64_t from) -> Result<Json> {
        PACE_TRY_ASSIGN(part, link.recording_part(name, from));
        return parse_document(part);
    };
    PACE_TRY_ASSIGN(document, recording_of(node, rows_max, ask));
    return add_document(document, recorded);
}

// One that does not answer is told and left out.
void add_nodes(const std::vector<std::string>& nodes, client::ToolLink& link, Recorded& recorded) {
    const uint64_t rows_max = kRowsMax / std::max<size_t>(1, nodes.size());
    for (const std::string& node : nodes)
        if (const auto added = add_node(node, rows_max, link, recorded); !added)
            say(fmt::format("node {} is left out: {}", node, added.error().message));
}

Result<> add_cluster(const RecordOptions& options, client::ToolLink& link, Recorded& recorded) {
    if (!options.nodes.empty()) {
        add_nodes(options.nodes, link, recorded);
        return {};
    }
    PACE_TRY_ASSIGN(own_text, link.query("recorder"));
    PACE_TRY_ASSIGN(own, parse_document(own_text));
    PACE_TRY(add_document(own, recorded));
    if (options.is_local) return {};
    auto status = link.query("status");
    if (!status) {
        say(fmt::format("this node alone, since {}", status.error().message));
        return {};
    }
    PACE_TRY_ASSIGN(document, parse_document(*status));
    auto nodes = nodes_alive(document);
    std::erase(nodes, link.node());
    add_nodes(nodes, link, recorded);
    return {};
}

Result<> add_daemons(const std::string& named, const RecordOptions& options, Recorded& recorded) {
    PACE_TRY_ASSIGN(endpoint, client::resolve_endpoint(named.empty() ? nullptr : named.c_str()));
    PACE_TRY_ASSIGN(link, connect(endpoint));
    PACE_TRY(add_cluster(options, link, recorded));
    if (recorded.trace.nodes() == 0)
        return make_error(ErrorKind::unavailable, "no node has answered");
    return {};
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
    Recorded recorded;
    if (options.merge.empty()) {
        if (const auto added = add_daemons(endpoint, options, recorded); !added)
            return say_error(added.error());
    }
    for (const std::string& path : options.merge)
        if (const auto added = add_file(path, recorded.trace); !added)
            return say_error(added.error());
    if (options.otlp.empty()) return write_out(options.output, recorded.trace);
    if (!options.output.empty())
        if (const int code = write_out(options.output, recorded.trace); code != 0) return code;
    return send_calls(options.otlp, recorded);
}

}  // namespace pace::pacectl
