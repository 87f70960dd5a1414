// Control messages: the messages between daemon and controller of protocol/control.fbs, and the job
// options in them.
#pragma once

#include <protocol/control_messages.h>

#include "daemon/control/ids.h"
#include "protocol/options/asked_options.h"

namespace pace::daemon::control {

// Declared once for both sides, generated from protocol/control.fbs.
using namespace protocol::messages;

// Declarations shared by all of Pace.
using protocol::AskedOptions;
using protocol::Compression;
using protocol::DenseFallback;
using protocol::DivideBy;
using protocol::Family;
using protocol::Hierarchy;
using protocol::Indices;
using protocol::JobOptions;
using protocol::Late;
using protocol::Missing;
using protocol::Policy;
using protocol::Quorum;
using protocol::Rate;
using protocol::Residuals;
using protocol::TeamGather;
using protocol::Values;
using protocol::Weights;

}  // namespace pace::daemon::control
