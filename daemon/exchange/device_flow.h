// DeviceFlow: a sum among nodes whose members here have their buffers on GPUs, copied in pieces while it travels: from the GPU to the
// twins as the sum needs them, and from the sum's scratch to the GPU as they are final, both ways at once.
//
// Buffers on the GPU are written before the whole result has arrived; if the sum fails then, they get what their twins have, which is
// what was in them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/flow.h"
#include "daemon/collectives/layout.h"
#include "daemon/exchange/device_sum.h"

namespace pace::daemon {

class DeviceFlow final : public collectives::Flow, public std::enable_shared_from_this<DeviceFlow> {
  public:
    using Failed = std::function<void(const base::Error&)>;

    // `result`: where the sum forms, pinned memory of layout.bytes(), which outlives this. `failed` is called, once at most, when
    // a GPU fails before settle().
    DeviceFlow(const std::vector<DeviceMember>& members, collectives::Layout layout,
               const std::byte* result, Failed failed);

    void begin(size_t blocks, size_t strip_bytes) override;
    bool arrived(collectives::ByteRange range) const override;
    collectives::Signal::Awaiter changed() override { return changed_.changed(); }
    void finished(collectives::ByteRange range) override;

    // The sum has been given up: whoever waits looks again.
    void wake();
    // After the sum, which has ended so. Ends when nothing is being copied any more and the members' buffers on the GPUs hold the
    // result, or what was in them. Gives the sum's error, or what a copy failed with.
    base::Task<base::Result<>> settle(base::Result<> sum);

    // A GPU has failed, so that what is in its buffers is not known.
    bool lost() const { return error_.has_value(); }

  private:
    struct Piece {
        collectives::ByteRange range;
        size_t landed = 0;    // of how many members
        size_t finished = 0;  // bytes
        bool returned = false;
    };
    // One member's copies to the host.
    struct Landing {
        std::shared_ptr<DeviceContents> contents;
        size_t next = 0;  // in order_
        size_t under_way = 0;
    };

    size_t key_of(const Piece& piece, size_t blocks) const;
    void go_on(size_t member);
    void landed(size_t member, size_t piece, const base::Result<>& result);
    void give_back(Piece& piece);
    void restore();
    void fail(const base::Error& error);
    base::Task<base::Result<>> returned();
    bool is_copying() const;

    collectives::Layout layout_;
    const std::byte* result_;
    Failed failed_;
    std::vector<Piece> pieces_;
    std::vector<size_t> order_;  // of pieces, as they are needed
    std::vector<Landing> landings_;
    bool ended_ = false;  // no further piece is needed
    std::optional<base::Error> error_;
    collectives::Signal changed_;
};

}  // namespace pace::daemon
