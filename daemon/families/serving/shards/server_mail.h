// ServerMail: messages (letters) between the nodes of a server job, while a view lasts. Between two
// nodes they arrive in the order in which they were sent; those that have not arrived when the view
// ends are lost.
//
// Each letter is a message of fixed size, followed by a message with its content if there is any.
//
// The content is charged to the job's user. Updates, parts of the model and models, which the job
// cannot do without, are charged whatever the limits. What else a node sends is refused if it does
// not fit: a copy of its checkpoint, and more than an honest node has under way. Content that does
// not fit, or that this node does not want, is passed over, and later letters still come.
//
// Some letters have an answer, and a node that has asked for the model expects letters. So it is
// known from which node something is due, and for how long: overdue() tells, and its caller acts
// upon it.
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
#include "daemon/runtime/accounts.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"
#include "daemon/server/letter.h"

namespace pace::daemon {

// The content of a letter to send, and what keeps it.
struct Content {
    std::shared_ptr<const void> keep;
    std::span<const std::byte> bytes;
};

// The content of a letter that has come. A peer chooses its size: it is charged, and the kernel
// provides its pages as the bytes come.
struct Parcel {
    Scratch memory;
    std::span<const std::byte> bytes;
    Charge charge;
};

class ServerMail {
  public:
    // What becomes of a letter of which only the head has come.
    enum class Admission : uint8_t {
        dropped,     // nobody hears of it
        if_it_fits,  // it is refused if its content passes a limit of the user
        in_any_case  // its content is charged, whatever the limits
    };
    // Called before there is memory for the letter's content. It must not close the mail.
    using Admits = std::function<Admission(NodeId from, const server::Letter&)>;
    // All letters are welcome.
    static Admission admit_all(NodeId from, const server::Letter& letter);

    using Received = std::function<void(NodeId from, const server::Letter&, Parcel parcel)>;
    // The letter's content does not fit, for this reason, and is gone. The next letter comes after
    // this returns.
    using Refused =
        std::function<void(NodeId from, const server::Letter&, const base::Error& error)>;
    // The connection to a node is gone; only another view brings a new one.
    using Broken = std::function<void(NodeId node, const base::Error&)>;

    // Letters have at most `elements_max` elements. Their contents are charged to `payer`.
    ServerMail(Services& services, uint64_t elements_max, Payer payer, Received received,
               Refused refused, Broken broken, Admits admits = admit_all);
    ~ServerMail();
    ServerMail(const ServerMail&) = delete;
    ServerMail& operator=(const ServerMail&) = delete;

    // A view has committed over these nodes. Closes the connections of the view before.
    void open(uint64_t token, uint64_t epoch, const std::vector<NodeId>& nodes);
    void close(const base::Error& error);

    // Sends to a node of the view. Dropped if `to` is none, or its connection is gone.
    void send(NodeId to, const server::Letter& letter, Content content = {});
    // One more letter is due from the node.
    void expect(NodeId from);

    struct Overdue {
        NodeId node = 0;
        base::Duration silent{};  // for so long nothing has moved between the two
        bool moving = false;      // a letter's content is under way; nobody knows how far it is
    };
    // The nodes from which a letter is due, or to which one is under way, if nothing has moved for
    // `patience`.
    std::vector<Overdue> overdue(base::TimePoint now, base::Duration patience) const;

  private:
    struct Line;
    void listen(const std::shared_ptr<Line>& line);
    static base::Task<> pass_over(Line& line, uint32_t slot);
    void received(Line& line, const server::Letter& letter, base::Result<Parcel> parcel);

    Services& services_;
    base::Result<Parcel> room_for(const server::Letter& letter, Admission admission) const;

    uint64_t elements_max_;
    Payer payer_;
    Received received_;
    Refused refused_;
    Broken broken_;
    Admits admits_;
    std::map<NodeId, std::shared_ptr<Line>> lines_;
};

}  // namespace pace::daemon
