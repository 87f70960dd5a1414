// pacectl: status, jobs, live view, events, trace, doctor, keys. Only the command line; each
// command has its file.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/mistypes.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/spans/otlp_target.h"
#include "service/pacectl/top/top_state.h"
#include "service/pacectl/verbs/job_flags.h"
#include "service/pacectl/verbs/key.h"
#include "service/pacectl/verbs/node.h"
#include "service/pacectl/verbs/record.h"

namespace {

using namespace pace;

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  done, or the answer is yes\n"
    "  1  the answer is no (doctor found a failure, a condition does not hold, there is no such\n"
    "     job), or it failed for a reason that has no code of its own\n"
    "  2  the arguments are wrong\n"
    "  3  the daemon cannot be reached\n"
    "  4  the daemon cannot reach the controller\n"
    "  5  this user may not do it";

constexpr double kDayS = 86400;

struct Arguments {
    std::string endpoint;
    bool json = false;
    std::string name;
    protocol::AskedOptions job;
    pacectl::TopOptions top;
    pacectl::WatchOptions watch;
    pacectl::EventsOptions events;
    pacectl::TraceOptions trace;
    pacectl::DoctorOptions doctor;
    pacectl::KeygenOptions keygen;
    pacectl::RecordOptions record;
};

struct Commands {
    CLI::App* status = nullptr;
    CLI::App* daemon = nullptr;
    CLI::App* metrics = nullptr;
    CLI::App* top = nullptr;
    CLI::App* watch = nullptr;
    CLI::App* events = nullptr;
    CLI::App* job = nullptr;
    CLI::App* create = nullptr;
    CLI::App* remove = nullptr;
    CLI::App* list = nullptr;
    CLI::App* show = nullptr;
    CLI::App* options = nullptr;
    CLI::App* trace = nullptr;
    CLI::App* record = nullptr;
    CLI::App* doctor = nullptr;
    CLI::App* keygen = nullptr;
    std::unique_ptr<pacectl::NodeCommand> node;
    std::unique_ptr<pacectl::KeyCommand> key;
};

void add_top_flags(CLI::App& command, pacectl::TopOptions& options) {
    command.add_option("--interval", options.interval_s, "Seconds between looks.")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command.add_option("--job", options.job, "Only this job, at first. Default: all.");
    command
        .add_option_function<std::string>(
            "--sort",
            [&options](const std::string& word) {
                options.sort_key = pacectl::sort_key_named(word);
            },
            "The order of workers at first. Default: rank.")
        ->type_name("WORD")
        ->check(CLI::IsMember(pacectl::sort_names()));
}

void add_watch_flags(CLI::App& command, pacectl::WatchOptions& options) {
    command
        .add_option("--until", options.until,
                    "Ends once it holds. finished: the job's workers have all left; started: all "
                    "have joined; no-slow: no worker is slow. Default: never.")
        ->type_name("WORD")
        ->check(CLI::IsMember({"finished", "started", "no-slow"}));
    command.add_option("--job", options.job,
                       "Only this job, which may come later. Default: all, of which there must be "
                       "one.");
    command
        .add_option("--timeout", options.timeout_s,
                    "Seconds after which it ends, with 1 if a condition was named.")
        ->check(CLI::Range(0.1, 365 * kDayS));
    command.add_option("--interval", options.interval_s, "Seconds between looks.")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command.add_flag("--json", options.json, "An object for each change, one a line.");
}

void add_events_flags(CLI::App& command, pacectl::EventsOptions& options) {
    command.add_flag("--follow", options.follow, "Goes on with those that come; Ctrl-C ends it.");
    command.add_option("--since", options.since,
                       "Only those after the one of this number: the last that you have.");
    command.add_option("--job", options.job, "Only this job's. Default: all.");
    command.add_flag("--json", options.json, "An object for each, one a line.");
}

void add_otlp_flag(CLI::App& command, std::string& url) {
    command
        .add_option("--otlp", url,
                    "Sends the spans to this OpenTelemetry collector, by OTLP over HTTP as JSON. "
                    "The path is /v1/traces if the URL has none.")
        ->type_name("URL")
        ->check([](const std::string& given) {
            const auto whole = pacectl::otlp_url(given);
            return whole ? std::string() : whole.error().message;
        });
}

void add_record_flags(CLI::App& command, pacectl::RecordOptions& options) {
    command.add_option("--output", options.output, "A file. Default: standard output.");
    command.add_option("--merge", options.merge,
                       "Files of several nodes, made by this command or kept by their daemons, as "
                       "one trace by the controller's clock.");
    command.add_option("--node", options.nodes,
                       "Only this node, by its name; may be given again. Default: all that are "
                       "alive.");
    command.add_flag("--local", options.is_local, "Only this node, also without a controller.");
    add_otlp_flag(command, options.otlp);
    command.get_option("--otlp")->excludes("--merge");
}

void add_trace_flags(CLI::App& command, pacectl::TraceOptions& options) {
    command.add_option("--job", options.job, "Only this job. Default: all jobs.");
    command.add_option("--output", options.output,
                       "A file. Default: standard output, without --otlp.");
    command
        .add_option("--follow", options.follow_s,
                    "Seconds to go on for, with what comes; Ctrl-C ends it before.")
        ->check(CLI::Range(0.1, kDayS));
    add_otlp_flag(command, options.otlp);
}

void add_doctor_flags(CLI::App& command, pacectl::DoctorOptions& options) {
    command.add_option("--keys", options.keys, "The folder of this machine's key files.")
        ->capture_default_str();
    command.add_flag("--fix", options.fix,
                     "Closes secret keys in that folder that others can read, and gives them to "
                     "root. The daemon's user keeps its own. Nothing else is ever changed.");
    command.add_flag("--json", options.json, "The findings, for programs.");
}

void add_keygen_flags(CLI::App& command, pacectl::KeygenOptions& options) {
    command.add_option("prefix", options.prefix, "Writes PREFIX.secret and PREFIX.public.")
        ->required();
    command.add_option("--owner", options.owner,
                       "The user that the files are given to. For services that are not started by "
                       "their units, which read root's files. Default: nobody, the files are the "
                       "caller's.");
    command.add_option("--group", options.group,
                       "A group, which may then read the secret key. Default: the owner's, which "
                       "may not.");
    command.add_flag("--json", options.json, "The files and the public key, for programs.");
}

void declare_looks(CLI::App& app, Arguments& arguments, Commands& commands) {
    commands.status = app.add_subcommand("status", "Nodes, jobs, workers, groups, who is slow.");
    commands.status->add_flag("--json", arguments.json, "The controller's document itself.");
    commands.daemon = app.add_subcommand("daemon", "This node's daemon and its clients.");
    commands.daemon->add_flag("--json", arguments.json, "The daemon's document itself.");
    commands.metrics = app.add_subcommand("metrics",
                                          "The numbers of both, for Prometheus: say, every 15 s "
                                          "into a file that its node exporter reads.");
    commands.top = app.add_subcommand("top", "The status, live. ? shows its keys, q ends.");
    add_top_flags(*commands.top, arguments.top);
    commands.watch = app.add_subcommand(
        "watch", "A line for each change of a job, worker or node, until a condition holds.");
    add_watch_flags(*commands.watch, arguments.watch);
    commands.events =
        app.add_subcommand("events", "What the controller has noted: who came, who left, and why.");
    add_events_flags(*commands.events, arguments.events);
}

void declare_jobs(CLI::App& app, Arguments& arguments, Commands& commands) {
    commands.job = app.add_subcommand("job", "Jobs.")->require_subcommand(1);
    commands.create = commands.job->add_subcommand("create", "Creates a job without workers yet.");
    pacectl::add_job_flags(*commands.create, arguments.job);
    commands.create->add_flag("--json", arguments.json, "What was done, for programs.");
    commands.remove = commands.job->add_subcommand(
        "delete", "Ends a job that no worker is in: one's own, or as root anybody's.");
    commands.remove->add_option("name", arguments.name, "The job's name.")->required();
    commands.remove->add_flag("--json", arguments.json, "What was done, for programs.");
    commands.list = commands.job->add_subcommand("list", "One line a job.");
    commands.list->add_flag("--json", arguments.json, "For programs.");
    commands.show = commands.job->add_subcommand("show", "One job with its options.");
    commands.show->add_option("name", arguments.name, "The job's name.")->required();
    commands.show->add_flag("--json", arguments.json,
                            "The job in the controller's document, and this node's waits.");
}

Commands declare(CLI::App& app, Arguments& arguments) {
    app.set_version_flag("--version", "pacectl " PACE_VERSION);
    app.add_option("--endpoint", arguments.endpoint,
                   "The daemon: unix:PATH. Default: PACE_ENDPOINT, else this node's.");
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(kExitCodes);

    Commands commands;
    declare_looks(app, arguments, commands);
    declare_jobs(app, arguments, commands);
    commands.node = std::make_unique<pacectl::NodeCommand>(app);
    commands.options =
        app.add_subcommand("options", "The policies and options that a job may have.");
    commands.options->add_flag("--json", arguments.json, "For programs.");
    commands.trace = app.add_subcommand("trace",
                                        "Who waited for whom, as a Chrome trace for "
                                        "ui.perfetto.dev: the recent groups, and of jobs "
                                        "without groups the calls of this node's workers.");
    add_trace_flags(*commands.trace, arguments.trace);
    commands.record = app.add_subcommand(
        "record", "What all nodes' daemons did in the last minutes, as a Chrome trace.");
    add_record_flags(*commands.record, arguments.record);
    commands.doctor =
        app.add_subcommand("doctor", "Checks what commonly goes wrong, says what to do.");
    add_doctor_flags(*commands.doctor, arguments.doctor);
    commands.keygen = app.add_subcommand("keygen", "A key pair for the control plane.");
    add_keygen_flags(*commands.keygen, arguments.keygen);
    commands.key = std::make_unique<pacectl::KeyCommand>(app);
    return commands;
}

int run(const Commands& commands, const Arguments& arguments) {
    const bool json = arguments.json;
    if (commands.keygen->parsed()) return pacectl::generate_keys(arguments.keygen);
    if (commands.key->is_parsed()) return commands.key->run();
    if (commands.options->parsed()) return pacectl::list_options(json);
    if (commands.record->parsed())
        return pacectl::write_recording(arguments.endpoint, arguments.record);
    const auto endpoint =
        client::resolve_endpoint(arguments.endpoint.empty() ? nullptr : arguments.endpoint.c_str());
    if (!endpoint) {
        pacectl::say_error(endpoint.error());
        return pacectl::kWrongUse;
    }
    if (commands.status->parsed()) return pacectl::show_status(*endpoint, json);
    if (commands.daemon->parsed()) return pacectl::show_daemon(*endpoint, json);
    if (commands.metrics->parsed()) return pacectl::show_metrics(*endpoint);
    if (commands.top->parsed()) return pacectl::run_top(*endpoint, arguments.top);
    if (commands.watch->parsed()) return pacectl::run_watch(*endpoint, arguments.watch);
    if (commands.events->parsed()) return pacectl::show_events(*endpoint, arguments.events);
    if (commands.create->parsed()) return pacectl::create_job(*endpoint, arguments.job, json);
    if (commands.remove->parsed()) return pacectl::delete_job(*endpoint, arguments.name, json);
    if (commands.list->parsed()) return pacectl::list_jobs(*endpoint, json);
    if (commands.show->parsed()) return pacectl::show_job(*endpoint, arguments.name, json);
    if (commands.node->is_parsed()) return commands.node->run(*endpoint);
    if (commands.trace->parsed()) return pacectl::write_trace(*endpoint, arguments.trace);
    return pacectl::run_doctor(*endpoint, arguments.doctor);
}

// --help and --version are no mistakes.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (const std::string mistake = pacectl::mistyped(app, words); !mistake.empty()) {
        pacectl::say(mistake);
        std::fprintf(stderr, "Run with --help for more information.\n");
    } else {
        app.exit(error);
    }
    return pacectl::kWrongUse;
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
        return end_of_parsing(app, error, argc, argv);
    }
    return run(commands, arguments);
}
