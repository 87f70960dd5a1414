// CallTrace: the calls of one node's ranks as spans, from recordings of the node's daemon.
//
// A rank is *computing* between two of its calls. A call is *waiting* until its exchange begins and
// *exchanging* from there to its end; the exchange of a call that was not done is named "failed".
// The exchange of a call is the last one of its job that ended during the call. A call without an
// exchange is one span, named by its verb. A span that has not ended reaches to the last recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/pacectl/recordings/recording_clock.h"
#include "service/pacectl/spans/call_log.h"
#include "service/pacectl/spans/span.h"

namespace pace::pacectl {

class CallTrace {
  public:
    // Calls, and exchanges, that a trace keeps. A guess at what a viewer still opens.
    static constexpr size_t kCallsMax = 100'000;

    explicit CallTrace(size_t calls_max = kCallsMax) : log_(calls_max) {}

    // A later recording of the same daemon adds the rows that came since. Fails with what the
    // document is instead.
    base::Result<> add(const Json& recording);

    // Those of the jobs whose names `is_wanted` takes.
    using Wanted = std::function<bool(const std::string& job)>;
    size_t calls(const Wanted& is_wanted) const;
    std::vector<Span> spans(const Wanted& is_wanted) const;

    const std::string& node() const { return node_; }
    // Whether a recording knew the controller's clock: then the spans have its times.
    bool is_on_controllers_clock() const { return clock_.to_controller_us.has_value(); }
    // What is to be added to the spans' times for those since 1970.
    int64_t to_unix_us() const { return clock_.to_unix_us - clock_.to_controller_us.value_or(0); }
    // Rows that the daemon had overwritten before they were read.
    uint64_t missed() const { return log_.missed(); }

  private:
    std::string node_;
    RecordingClock clock_;
    CallLog log_;
};

}  // namespace pace::pacectl
