// From the control plane's envelopes to the daemon's structs. Pure.
//
// The controller is believed, but only after its bytes have been verified; what it says is checked
// again where it is used (epochs, ranks, sizes).
#pragma once

#include "daemon/control/control_handler.h"
#include "daemon/control/messages.h"
#include "protocol/control_codec.h"

namespace pace::daemon::control {

// Each reads a verified table. The error kinds of later versions become `internal`.
base::Error read_error(int32_t kind, const flatbuffers::String* message);
base::Result<JoinAccepted> read(const protocol::control::JoinAccepted& table);
JoinRefused read(const protocol::control::JoinRefused& table);
PrepareView read(const protocol::control::PrepareView& table);
base::Result<CommitView> read(const protocol::control::CommitView& table);
// Into an order whose memory is used again: this is on the path of every exchange.
void read(const protocol::control::GroupOrder& table, GroupOrder& ret_order);
GroupAbort read(const protocol::control::GroupAbort& table);
WorkerSuspended read(const protocol::control::WorkerSuspended& table);
JobDeleted read(const protocol::control::JobDeleted& table);
WorkerLeft read(const protocol::control::WorkerLeft& table);
Withdrawn read(const protocol::control::Withdrawn& table);
NodeGone read(const protocol::control::NodeGone& table);
NodeKnown read(const protocol::control::NodeKnown& table);
StatusReply read(const protocol::control::StatusReply& table);

// Calls the handler's function for this message, if it is one that a controller says to a daemon
// that is attached; false if not, or if it makes no sense. Orders are read into `order`.
bool deliver(const protocol::control::Envelope& envelope, ControlHandler& handler,
             GroupOrder& order);

}  // namespace pace::daemon::control
