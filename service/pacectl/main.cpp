// pacectl: status, jobs, live view, trace, doctor, keys. Only the command line; each command has its file.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "service/pacectl/commands.h"
#include "service/pacectl/job_flags.h"
#include "service/pacectl/output.h"

namespace {

using namespace pace;

struct Arguments {
    std::string endpoint;
    bool json = false;
    double interval_s = 1;
    std::string name;
    std::string prefix;
    protocol::AskedOptions job;
    pacectl::TraceOptions trace;
};

struct Commands {
    CLI::App* status = nullptr;
    CLI::App* daemon = nullptr;
    CLI::App* metrics = nullptr;
    CLI::App* top = nullptr;
    CLI::App* job = nullptr;
    CLI::App* create = nullptr;
    CLI::App* remove = nullptr;
    CLI::App* list = nullptr;
    CLI::App* show = nullptr;
    CLI::App* options = nullptr;
    CLI::App* trace = nullptr;
    CLI::App* doctor = nullptr;
    CLI::App* keygen = nullptr;
};

void add_trace_flags(CLI::App& command, pacectl::TraceOptions& options) {
    command.add_option("--job", options.job, "Only this job's groups. Default: all jobs'.");
    command.add_option("--output", options.output, "A file. Default: standard output.");
    command
        .add_option("--follow", options.follow_s,
                    "Seconds to go on for, with the groups that come; Ctrl-C ends it before.")
        ->check(CLI::Range(0.1, 86400.0));
}

Commands declare(CLI::App& app, Arguments& arguments) {
    app.set_version_flag("--version", "pacectl " PACE_VERSION);
    app.add_option("--endpoint", arguments.endpoint,
                   "The daemon: unix:PATH. Default: PACE_ENDPOINT, else this node's.");
    app.require_subcommand(1);
    app.fallthrough();

    Commands commands;
    commands.status = app.add_subcommand("status", "Nodes, jobs, workers, groups, who is slow.");
    commands.status->add_flag("--json", arguments.json, "The controller's document itself.");
    commands.daemon = app.add_subcommand("daemon", "This node's daemon and its clients.");
    commands.daemon->add_flag("--json", arguments.json, "The daemon's document itself.");
    commands.metrics = app.add_subcommand("metrics",
                                          "The numbers of both, for Prometheus: say, every 15 s "
                                          "into a file that its node exporter reads.");
    commands.top = app.add_subcommand("top", "The status, live. q ends.");
    commands.top->add_option("--interval", arguments.interval_s, "Seconds between looks.")
        ->check(CLI::Range(0.1, 3600.0));
    commands.job = app.add_subcommand("job", "Jobs.")->require_subcommand(1);
    commands.create = commands.job->add_subcommand("create", "Creates a job without workers yet.");
    pacectl::add_job_flags(*commands.create, arguments.job);
    commands.remove = commands.job->add_subcommand(
        "delete", "Ends a job that no worker is in: one's own, or as root anybody's.");
    commands.remove->add_option("name", arguments.name, "The job's name.")->required();
    commands.list = commands.job->add_subcommand("list", "One line a job.");
    commands.show = commands.job->add_subcommand("show", "One job with its options.");
    commands.show->add_option("name", arguments.name, "The job's name.")->required();
    commands.options =
        app.add_subcommand("options", "The policies and options that a job may have.");
    commands.options->add_flag("--json", arguments.json, "For programs.");
    commands.trace = app.add_subcommand(
        "trace", "The recent groups as a Chrome trace, for ui.perfetto.dev: who waited for whom.");
    add_trace_flags(*commands.trace, arguments.trace);
    commands.doctor =
        app.add_subcommand("doctor", "Checks what commonly goes wrong, says what to do.");
    commands.keygen = app.add_subcommand("keygen", "A key pair for the control plane.");
    commands.keygen
        ->add_option("prefix", arguments.prefix, "Writes PREFIX.secret and PREFIX.public.")
        ->required();
    return commands;
}

int run(const Commands& commands, const Arguments& arguments) {
    if (commands.keygen->parsed()) return pacectl::generate_keys(arguments.prefix);
    if (commands.options->parsed()) return pacectl::list_options(arguments.json);
    const auto endpoint =
        client::resolve_endpoint(arguments.endpoint.empty() ? nullptr : arguments.endpoint.c_str());
    if (!endpoint) {
        pacectl::say_error(endpoint.error());
        return 2;
    }
    if (commands.status->parsed()) return pacectl::show_status(*endpoint, arguments.json);
    if (commands.daemon->parsed()) return pacectl::show_daemon(*endpoint, arguments.json);
    if (commands.metrics->parsed()) return pacectl::show_metrics(*endpoint);
    if (commands.top->parsed()) return pacectl::run_top(*endpoint, arguments.interval_s);
    if (commands.create->parsed()) return pacectl::create_job(*endpoint, arguments.job);
    if (commands.remove->parsed()) return pacectl::delete_job(*endpoint, arguments.name);
    if (commands.list->parsed()) return pacectl::list_jobs(*endpoint);
    if (commands.show->parsed()) return pacectl::show_job(*endpoint, arguments.name);
    if (commands.trace->parsed()) return pacectl::write_trace(*endpoint, arguments.trace);
    return pacectl::run_doctor(*endpoint);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Looks at Pace and talks to it: through this node's daemon, with the whole cluster.",
        "pacectl"};
    Arguments arguments;
    const Commands commands = declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return run(commands, arguments);
}
