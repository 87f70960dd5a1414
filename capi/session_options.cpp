#include "capi/session_options.h"

#include <cstdlib>
#include <string>

#include "capi/options.h"
#include "protocol/options/choices.h"
#include "protocol/options/limits.h"
#include "protocol/options/option_value.h"

namespace pace::capi {

using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::OptionKind;
using protocol::OptionValue;

namespace {

static_assert(PACE_INT == static_cast<int>(OptionKind::integer));
static_assert(PACE_REAL == static_cast<int>(OptionKind::real));
static_assert(PACE_TEXT == static_cast<int>(OptionKind::text));
static_assert(PACE_BYTES == static_cast<int>(OptionKind::bytes));

constexpr StructName kSession{"options", "PACE_SESSION_OPTIONS_INIT"};
constexpr uint32_t kFlags = PACE_SESSION_RESUME | PACE_SESSION_SIGNALS;

// A text without its terminating zero must not be read to the end of the heap. The result has up to
// one byte more than is allowed, so that a check of its length finds a text that is too long.
std::string bounded(const char* text, size_t bytes_max) {
    return {text, strnlen(text, bytes_max + 1)};
}

Result<> read_text(const pace_option& given, OptionValue& ret_value) {
    if (given.value.text == nullptr)
        return make_error(ErrorKind::invalid, "{} is NULL; give a text, or leave it out",
                          ret_value.name);
    ret_value.value = bounded(given.value.text, protocol::kOptionTextBytesMax);
    return {};
}

Result<> read_bytes(const pace_option& given, OptionValue& ret_value) {
    if (given.bytes > protocol::kOptionBytesMax)
        return make_error(ErrorKind::invalid, "{} has {} bytes; use at most {}", ret_value.name,
                          given.bytes, protocol::kOptionBytesMax);
    const auto* const data = static_cast<const uint8_t*>(given.value.data);
    if (data == nullptr && given.bytes != 0)
        return make_error(ErrorKind::invalid, "{} is NULL, but has {} bytes; give both or neither",
                          ret_value.name, given.bytes);
    ret_value.value =
        data == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(data, data + given.bytes);
    return {};
}

Result<> read_value(const pace_option& given, OptionValue& ret_value) {
    switch (given.kind) {
        case PACE_INT:
            ret_value.value.emplace<int64_t>(given.value.i);
            return {};
        case PACE_REAL:
            ret_value.value.emplace<double>(given.value.r);
            return {};
        case PACE_TEXT:
            return read_text(given, ret_value);
        case PACE_BYTES:
            return read_bytes(given, ret_value);
        default:
            return make_error(ErrorKind::invalid,
                              "{} is of kind {}; use PACE_INT, PACE_REAL, PACE_TEXT or PACE_BYTES",
                              ret_value.name, given.kind);
    }
}

Result<OptionValue> read_option(const pace_option& given, size_t index) {
    if (given.name == nullptr)
        return make_error(ErrorKind::invalid,
                          "options[{}].name is NULL; give the name of an option", index);
    OptionValue value{bounded(given.name, protocol::kOptionNameBytesMax), {}};
    if (value.name.empty() || value.name.size() > protocol::kOptionNameBytesMax)
        return make_error(ErrorKind::invalid, "options[{}].name has {} bytes; use 1 to {}", index,
                          value.name.size(), protocol::kOptionNameBytesMax);
    if ((given.flags & ~uint32_t{PACE_OPTION_HINT}) != 0)
        return make_error(ErrorKind::invalid, "{} has the flags {:#x}; use PACE_OPTION_HINT or 0",
                          value.name, given.flags);
    value.hint = (given.flags & PACE_OPTION_HINT) != 0;
    PACE_TRY(read_value(given, value));
    return value;
}

Result<> read_options_by_name(const pace_session_options& given, protocol::AskedOptions& ret_job) {
    if (given.options == nullptr && given.option_count != 0)
        return make_error(ErrorKind::invalid,
                          "options is NULL but option_count is {}; give both or neither",
                          given.option_count);
    if (given.option_count > protocol::kOptionsMax)
        return make_error(ErrorKind::invalid, "option_count is {}; give at most {}",
                          given.option_count, protocol::kOptionsMax);
    for (size_t i = 0; i < given.option_count; ++i) {
        PACE_TRY_ASSIGN(value, read_option(given.options[i], i));
        ret_job.values.push_back(std::move(value));
    }
    return {};
}

Result<protocol::AskedOptions> read_job(const pace_session_options& given) {
    if (given.job == nullptr)
        return make_error(ErrorKind::invalid,
                          "job is NULL; give the job a name that all of its workers use");
    if (given.policy == nullptr)
        return make_error(ErrorKind::invalid, "policy is NULL; use {}",
                          protocol::listed(words_of(protocol::Policy{})));
    protocol::AskedOptions job(bounded(given.job, protocol::kNameBytesMax), given.world,
                               bounded(given.policy, protocol::kOptionNameBytesMax));
    PACE_TRY(read_options_by_name(given, job));
    return job;
}

}  // namespace

Result<AskedSession> read_session(const pace_session_options* pointer) {
    PACE_TRY_ASSIGN(given, read_options(pointer, kSession));
    if ((given.flags & ~kFlags) != 0)
        return make_error(ErrorKind::invalid,
                          "flags is {:#x}; use PACE_SESSION_RESUME, PACE_SESSION_SIGNALS or 0",
                          given.flags);
    if (given.connect_ms < PACE_FOREVER)
        return make_error(ErrorKind::invalid,
                          "connect_ms is {}; give milliseconds, 0 to look once, or PACE_FOREVER",
                          given.connect_ms);
    AskedSession asked;
    PACE_TRY_ASSIGN(job, read_job(given));
    asked.job = std::move(job);
    asked.rank = given.rank;
    asked.connect = duration_of(given.connect_ms);
    asked.by_signals = (given.flags & PACE_SESSION_SIGNALS) != 0;
    PACE_TRY_ASSIGN(run, client::run_identity(given.run, (given.flags & PACE_SESSION_RESUME) != 0,
                                              [](const char* name) { return std::getenv(name); }));
    asked.run = std::move(run);
    PACE_TRY_ASSIGN(endpoint, client::resolve_endpoint(given.endpoint));
    asked.endpoint = std::move(endpoint);
    return asked;
}

}  // namespace pace::capi
