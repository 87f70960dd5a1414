#include "service/pacectl/metrics_text.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace pace::pacectl {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string escaped(std::string_view label) {
    std::string safe;
    for (const char letter : label) {
        if (letter == '\\' || letter == '"') safe += '\\';
        safe += letter;
    }
    return safe;
}

// Families in the order in which they come up, each with all of its samples together, as the format asks.
class Metrics {
  public:
    void gauge(std::string_view name, std::string_view help, const Labels& labels, double value) {
        add(name, "gauge", help, name, labels, value);
    }
    void counter(std::string_view name, std::string_view help, const Labels& labels, double value) {
        add(name, "counter", help, name, labels, value);
    }
    // counts[i]: of value i; what is beyond the last counts as that.
    void histogram(std::string_view name, std::string_view help, const Labels& labels,
                   const std::vector<double>& counts) {
        const std::string bucket = fmt::format("{}_bucket", name);
        double all = 0;
        double sum = 0;
        for (size_t i = 0; i < counts.size(); ++i) {
            all += counts[i];
            sum += counts[i] * static_cast<double>(i);
            Labels with = labels;
            with.emplace_back("le", fmt::format("{}", i));
            add(name, "histogram", help, bucket, with, all);
        }
        Labels with = labels;
        with.emplace_back("le", "+Inf");
        add(name, "histogram", help, bucket, with, all);
        add(name, "histogram", help, fmt::format("{}_sum", name), labels, sum);
        add(name, "histogram", help, fmt::format("{}_count", name), labels, all);
    }
    std::string text() const {
        std::string all;
        for (const std::string& family : order_) all += families_.at(family);
        return all;
    }

  private:
    void add(std::string_view family, std::string_view type, std::string_view help,
             std::string_view sample, const Labels& labels, double value) {
        const auto [entry, is_new] = families_.try_emplace(std::string(family));
        if (is_new) {
            order_.emplace_back(family);
            entry->second = fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, help, family, type);
        }
        std::string list;
        for (const auto& [name, label] : labels)
            list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", name, escaped(label));
        entry->second +=
            fmt::format("{}{} {}\n", sample, list.empty() ? "" : "{" + list + "}", value);
    }

    std::vector<std::string> order_;
    std::map<std::string, std::string> families_;
};

void add_worker(Metrics& metrics, const Json& worker, const std::string& job) {
    const Labels labels{
        {"job", job}, {"rank", text(worker, "rank")}, {"node", text(worker, "node")}};
    metrics.gauge("pace_worker_iteration", "The worker's step.", labels,
                  number(worker, "iteration"));
    metrics.gauge("pace_worker_step_seconds", "The median of its latest steps.", labels,
                  number(worker, "step_median_ms") / 1000);
    metrics.gauge("pace_worker_active", "1 if it is a member and not suspended.", labels,
                  text(worker, "status") == "active" ? 1 : 0);
    if (member(worker, "waited").is_object())
        metrics.counter("pace_worker_group_waited_seconds_total", "For its groups.", labels,
                        number(member(worker, "waited"), "total_s"));
}

void add_model(Metrics& metrics, const Json& model, const std::string& job) {
    const Labels labels{{"job", job}};
    metrics.gauge("pace_model_slowest_clock", "Steps that the slowest worker has pushed.", labels,
                  number(model, "slowest_clock"));
    metrics.gauge("pace_model_fastest_clock", "Steps that the fastest worker has pushed.", labels,
                  number(model, "fastest_clock"));
    metrics.counter("pace_model_pushes_total", "Updates that are in the model.", labels,
                    number(model, "pushes"));
    metrics.counter("pace_model_pulls_total", "Times that workers got the model.", labels,
                    number(model, "pulls"));
    metrics.gauge("pace_model_pulls_waiting", "Pulls that staleness holds back now.", labels,
                  number(model, "pulls_waiting"));
    metrics.gauge("pace_model_live_versions", "Versions that may get further updates.", labels,
                  number(model, "live_versions"));
    metrics.counter("pace_model_waited_seconds_total", "Of pulls that staleness held back.", labels,
                    number(model, "waited_total_s"));
    for (const Json& wait : list(model, "waited_by_s"))
        if (wait.is_array() && wait.size() == 2 && wait[0].is_number() && wait[1].is_number())
            metrics.counter("pace_worker_pull_waited_seconds_total",
                            "Of a worker's pulls that staleness held back.",
                            {{"job", job}, {"rank", fmt::format("{}", wait[0].get<uint64_t>())}},
                            wait[1].get<double>());
    std::vector<double> staleness;
    for (const Json& bucket : list(model, "staleness"))
        staleness.push_back(bucket.is_number() ? bucket.get<double>() : 0);
    metrics.histogram("pace_model_push_staleness", "Versions that pushes were behind.", labels,
                      staleness);
    const Json& checkpoint = member(model, "checkpoint");
    if (member(checkpoint, "age_s").is_number())
        metrics.gauge("pace_model_checkpoint_age_seconds", "Since the last whole checkpoint.",
                      labels, number(checkpoint, "age_s"));
    metrics.gauge("pace_model_checkpoint_failed", "1 if the last checkpoint failed.", labels,
                  member(checkpoint, "failure").is_string() ? 1 : 0);
}

void add_status(Metrics& metrics, const Json& status) {
    for (const Json& node : list(status, "nodes"))
        metrics.gauge("pace_node_alive", "1 if the controller hears the node.",
                      {{"node", text(node, "node")}, {"name", text(node, "name")}},
                      text(node, "status") == "alive" ? 1 : 0);
    for (const Json& job : list(status, "jobs")) {
        const std::string name = text(job, "name");
        for (const Json& worker : list(job, "workers")) add_worker(metrics, worker, name);
        if (member(job, "groups").is_object())
            metrics.counter("pace_groups_total", "Groups that have averaged.", {{"job", name}},
                            number(member(job, "groups"), "completed"));
        if (const Json& model = member(job, "model"); model.is_object())
            add_model(metrics, model, name);
    }
}

void add_daemon(Metrics& metrics, const Json& daemon) {
    const std::string node = text(daemon, "name");
    if (const Json& counters = member(daemon, "counters"); counters.is_object())
        for (const auto& [name, value] : counters.items())
            if (value.is_number())
                metrics.counter(fmt::format("pace_daemon_{}_total", name),
                                "A counter of this node's daemon.", {{"name", node}},
                                value.get<double>());
    metrics.gauge("pace_daemon_clients", "Trainers and tools that are connected.", {{"name", node}},
                  static_cast<double>(list(daemon, "clients").size()));
    metrics.gauge("pace_daemon_buffers_bytes", "Memory of all buffers.", {{"name", node}},
                  number(member(daemon, "memory"), "buffers"));
    const Json& loop = member(daemon, "loop");
    metrics.gauge("pace_daemon_loop_longest_seconds",
                  "The longest that one callback has held up the event loop.", {{"name", node}},
                  number(loop, "longest_ms") / 1e3);
    metrics.counter("pace_daemon_loop_long_callbacks_total",
                    "Callbacks that held up the event loop for 50 ms or more.", {{"name", node}},
                    number(loop, "long_callbacks"));
    for (const Json& shard : list(daemon, "shards"))
        for (const auto& [field, kind] : {std::pair("model_bytes", "model"),
                                          {"versions_bytes", "versions"},
                                          {"held_bytes", "held"}})
            metrics.gauge("pace_shard_bytes", "Memory of a shard that this node's daemon keeps.",
                          {{"name", node},
                           {"job", text(shard, "job")},
                           {"shard", text(shard, "shard")},
                           {"kind", kind}},
                          number(shard, field));
}

}  // namespace

std::string metrics_text(const Json& status, const Json& daemon) {
    Metrics metrics;
    add_status(metrics, status);
    add_daemon(metrics, daemon);
    return metrics.text();
}

}  // namespace pace::pacectl
