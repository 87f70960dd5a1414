#include "protocol/options/description.h"
#include "protocol/options/option_table.h"
#include "service/pacectl/columns/columns.h"
#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/status/daemon_text.h"
#include "service/pacectl/status/job_text.h"

namespace pace::pacectl {

namespace {

Json waits_of(const Json& daemon, const std::string& job) {
    Json waits = Json::array();
    for (const Json& wait : list(daemon, "waits")) {
        if (text(wait, "job") == job) waits.push_back(wait);
    }
    return waits;
}

// If the controller knows no such job, the status tells which name was probably meant.
int say_not_deleted(const client::Endpoint& endpoint, const std::string& name,
                    const base::Error& error) {
    if (error.kind != base::ErrorKind::not_found) return say_error(error);
    const auto status = fetch_document(endpoint, "status");
    return say_error(status ? no_such_job(*status, name) : error);
}

}  // namespace

int create_job(const client::Endpoint& endpoint, const protocol::AskedOptions& options, bool json) {
    auto link = connect(endpoint);
    if (!link) return say_error(link.error());
    if (const auto created = link->create_job(options); !created) return say_error(created.error());
    if (json) return print(json_text({{"created", options.name}, {"world", options.world}}));
    return print(fmt::format("job {} of {} workers is there\n", options.name, options.world));
}

int list_options(bool json) {
    if (json) return print(protocol::options_json());
    Columns policies({"POLICY", ""});
    for (const protocol::PolicyRow& row : protocol::policies())
        policies.add({std::string(row.word), std::string(row.help)});
    std::string text = policies.text("") + "\n";
    for (const protocol::OptionRow& row : protocol::option_table())
        text += fmt::format("{}\n    {} {}; default: {}\n", row.name, row.help,
                            protocol::values_text(row), protocol::initial_text(row));
    return print(text);
}

int delete_job(const client::Endpoint& endpoint, const std::string& name, bool json) {
    auto link = connect(endpoint);
    if (!link) return say_error(link.error());
    if (const auto deleted = link->delete_job(name); !deleted)
        return say_not_deleted(endpoint, name, deleted.error());
    if (json) return print(json_text({{"deleted", name}}));
    return print(fmt::format("job {} is deleted\n", name));
}

int list_jobs(const client::Endpoint& endpoint, bool json) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    return print(json ? json_text(job_list_json(*status)) : job_list_text(*status));
}

int show_job(const client::Endpoint& endpoint, const std::string& name, bool json) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    const Json* job = find_job(*status, name);
    if (job == nullptr) return say_error(no_such_job(*status, name));
    const auto daemon = fetch_document(endpoint, "daemon");
    if (json)
        return print(
            json_text({{"job", *job}, {"waits", waits_of(daemon ? *daemon : Json(), name)}}));
    return print(job_text(*status, *job, {.groups = 64}) +
                 (daemon ? waits_text(*daemon, name) : std::string()) + "\n" +
                 job_options_text(*job));
}

}  // namespace pace::pacectl
