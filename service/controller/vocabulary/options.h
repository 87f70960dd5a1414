// Options: the names of a job's options and choices, as declared for all of Pace
// (protocol/options).
#pragma once

#include "protocol/options/asked_options.h"
#include "protocol/options/job_options.h"

namespace pace::controller {

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

using protocol::family_of;
using protocol::forms_groups;
using protocol::is_compressed;
using protocol::is_partial;
using protocol::is_top_k;
using protocol::name_of;
using protocol::Words;
using protocol::words_of;

}  // namespace pace::controller
