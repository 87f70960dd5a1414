// ServerMail: letters between the nodes of a server job, while a view lasts. Between two nodes they arrive in the order in which they were
// sent; what has not arrived when the view ends is lost.
//
// Each letter is a message of fixed size, and one with its content if there is any.
//
// What comes with a letter is charged to the job's user. What the model cannot do without counts, whatever the limits: updates, parts of
// the model, models. A copy of another node's checkpoint is refused where it does not fit. What does not fit is passed over, and the
// letters after it come.
//
// Some letters have an answer, and whoever has asked for the model expects letters. So it is known from whom something is due, and for how
// long: overdue() tells, and its caller does something about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/exchange/accounts.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"
#include "daemon/server/letter.h"

namespace pace::daemon {

// What goes with a letter, and who keeps it.
struct Content {
    std::shared_ptr<const void> keep;
    std::span<const std::byte> bytes;
};

// What comes with a letter. A peer says how much that is: it is charged, and the kernel finds its pages as the bytes come.
struct Parcel {
    Scratch memory;
    std::span<const std::byte> bytes;
    Charge charge;
};

class ServerMail {
  public:
    using Received = std::function<void(NodeId from, const server::Letter&, Parcel parcel)>;
    // What came with the letter does not fit, for this reason, and is gone. The next one comes after this returns.
    using Refused =
        std::function<void(NodeId from, const server::Letter&, const base::Error& error)>;
    // The way to a node is gone; only another view brings a new one.
    using Broken = std::function<void(NodeId node, const base::Error&)>;

    // Letters have at most `elements_max` elements. What comes with them is charged to `payer`.
    ServerMail(Services& services, uint64_t elements_max, Payer payer, Received received,
               Refused refused, Broken broken);
    ~ServerMail();
    ServerMail(const ServerMail&) = delete;
    ServerMail& operator=(const ServerMail&) = delete;

    // A view has committed over these nodes. What was of another is closed.
    void open(uint64_t token, uint64_t epoch, const std::vector<NodeId>& nodes);
    void close(const base::Error& error);

    // To a node of the view; dropped if it is none, or its way is gone.
    void send(NodeId to, const server::Letter& letter, Content content = {});
    // One more letter is due from the node.
    void expect(NodeId from);

    struct Overdue {
        NodeId node = 0;
        base::Duration silent{};  // nothing has moved between the two for so long
        bool moving = false;      // some letter's elements are on their way; nobody knows how far
    };
    // From whom something is due, or to whom something is on its way, and nothing has moved for so long.
    std::vector<Overdue> overdue(base::TimePoint now, base::Duration patience) const;

  private:
    struct Line;
    void listen(const std::shared_ptr<Line>& line);
    static base::Task<> pass_over(Line& line, uint32_t slot);
    void received(Line& line, const server::Letter& letter, base::Result<Parcel> parcel);

    Services& services_;
    base::Result<Parcel> room_for(const server::Letter& letter) const;

    uint64_t elements_max_;
    Payer payer_;
    Received received_;
    Refused refused_;
    Broken broken_;
    std::map<NodeId, std::shared_ptr<Line>> lines_;
};

}  // namespace pace::daemon
