// StrangerReports: which refused connections are told, and when. A flood of strangers makes few
// reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "transports/tls/tls_transport.h"

namespace pace::transports::tls {

class StrangerReports {
  public:
    // How many are told in a row. After that one is told each second.
    static constexpr unsigned kInARow = 8;
    static constexpr base::Duration kOneEach = std::chrono::seconds(1);

    void add(std::string source, std::string reason, base::TimePoint now) {
        if (now - last_ >= kOneEach) {
            const auto due = static_cast<uint64_t>((now - last_) / kOneEach);
            left_ = static_cast<unsigned>(std::min<uint64_t>(kInARow, left_ + due));
            last_ = now;
        }
        if (left_ == 0) {
            ++unreported_;
            return;
        }
        --left_;
        reports_.push_back(
            {std::move(source), std::move(reason), std::exchange(unreported_, uint64_t{0})});
    }

    bool empty() const { return reports_.empty(); }
    std::vector<TlsTransport::Stranger> take() { return std::exchange(reports_, {}); }

  private:
    unsigned left_ = kInARow;
    base::TimePoint last_{};
    uint64_t unreported_ = 0;
    std::vector<TlsTransport::Stranger> reports_;
};

}  // namespace pace::transports::tls
