// DeviceFlow: a sum among nodes whose members here have their buffers on GPUs, copied in pieces while it travels: from the GPU to the
// twins as the sum needs them, and from the sum's scratch to other memory on the GPU as they are final, both ways at once.
//
// As always, buffers are not written before the whole result has arrived: then it is copied to them on the GPU.
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

    // The members' memory on one GPU to which the result comes, and a lane of theirs.
    struct Place {
        std::shared_ptr<DeviceLane> lane;
        std::shared_ptr<device::DeviceMemory> memory;
    };

    // `places`: one for each GPU, of layout.bytes(). `result`: where the sum forms, pinned memory of as many, which outlives this.
    // `failed` is called, once at most, when a GPU fails before settle().
    DeviceFlow(const std::vector<DeviceMember>& members, std::vector<Place> places,
               collectives::Layout layout, const std::byte* result, Failed failed);

    void begin(size_t blocks, size_t strip_bytes) override;
    bool arrived(collectives::ByteRange range) const override;
    collectives::Signal::Awaiter changed() override { return changed_.changed(); }
    void finished(collectives::ByteRange range) override;

    // The sum has been given up: whoever waits looks again.
    void wake();
    // After the sum, which has ended so. Ends when nothing is being copied between host and GPUs any more. If all is well, the result is
    // queued to the members' buffers; otherwise they are as they were. Gives the sum's error, or what a copy failed with.
    base::Task<base::Result<>> settle(base::Result<> sum);

    // A GPU has failed, so that what is in its buffers is not known.
    bool lost() const { return error_.has_value(); }

  private:
    struct Piece {
        collectives::ByteRange range;
        size_t landed = 0;    // of how many members
        size_t finished = 0;  // bytes
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
    void give_back(const Piece& piece);
    base::Result<> give_to(const Landing& landing);
    void fail(const base::Error& error);
    base::Task<base::Result<>> returned();
    bool is_copying() const;

    collectives::Layout layout_;
    const std::byte* result_;
    Failed failed_;
    std::vector<Piece> pieces_;
    std::vector<size_t> order_;  // of pieces, as they are needed
    std::vector<Landing> landings_;
    std::vector<Place> places_;
    bool ended_ = false;  // no further piece is needed
    std::optional<base::Error> error_;
    collectives::Signal changed_;
};

}  // namespace pace::daemon
