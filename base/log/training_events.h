// The events of workers, exchanges and models, as a daemon sees them. An operator may have to act
// on them. docs/log-messages.md is generated from these tables.
//
// A row keeps its identifier for ever. `systemd-id128 new` makes a new identifier.
#pragma once

#include "base/log/log.h"

namespace pace::base::events {

inline constexpr LogEvent kWorkerLost{
    "worker-lost",
    "worker lost",
    "71cc128fb45b49009ede424776790f49",
    LogLevel::warning,
    "A trainer's process has ended, or closed its connection, without leaving its job. The others "
    "go on.",
    "look at the trainer's own output; started again, it takes the model from the others"};

inline constexpr LogEvent kWorkerStopped{
    "worker-stopped",
    "worker stopped by a signal",
    "704540b76a0144adba29c5c1268ca41b",
    LogLevel::warning,
    "A trainer's process is stopped: by SIGSTOP, a debugger, or a batch system.",
    "let it go on (kill -CONT PID), or end it"};

inline constexpr LogEvent kWorkerContinues{"worker-continues",
                                           "worker runs again",
                                           "0cab9e0c70154b969819e59f32cd0700",
                                           LogLevel::info,
                                           "A trainer's process that was stopped runs again.",
                                           ""};

inline constexpr LogEvent kWorkerSuspended{
    "worker-suspended",
    "worker suspended",
    "e0284275ec9b4fdea99c648c9c1726bc",
    LogLevel::warning,
    "The job goes on without a worker that is late, or whose model is not the job's, for the "
    "reason given. It comes back with its next call.",
    "if it is late, look why; for steps that are long by nature raise the option "
    "worker.timeout_ms"};

inline constexpr LogEvent kWorkerDrained{
    "worker-drained",
    "worker drained",
    "a42b856e15af4eb0b75cc7e25a0bde2f",
    LogLevel::warning,
    "A worker left its job, since an operator took this node out of use.",
    "start it on another node, or here after pacectl node undrain"};

inline constexpr LogEvent kWorkerLostPlace{
    "worker-lost-place",
    "worker lost its place",
    "32f46174fc864b1ca5196bd0bcde15a0",
    LogLevel::warning,
    "The controller does not give a worker the place back that it had.",
    "do what the reason says, or start the worker again"};

inline constexpr LogEvent kRunOver{
    "run-over",
    "a run is over, and has workers here",
    "1fe52838127f42fdbd21e6ef4db35835",
    LogLevel::warning,
    "Another run has begun under the job's name, while this node had no controller.",
    "start the workers of the earlier run again if they are still wanted"};

inline constexpr LogEvent kNewcomerWithoutModel{"newcomer-without-model",
                                                "nobody can give a newcomer the model",
                                                "6744c1d7ac7f4c5f89db0d451ea7b5e5",
                                                LogLevel::warning,
                                                "No worker of the job has the current model.",
                                                "call pace_broadcast once at the job's beginning"};

inline constexpr LogEvent kDonorCannotGive{"donor-cannot-give",
                                           "cannot give a newcomer the model",
                                           "ea96e66bd684474ab09acdcde48041e6",
                                           LogLevel::warning,
                                           "This node was to give a new worker the model, and "
                                           "cannot. The worker's call ends with an error.",
                                           "see the reason; the worker may call again"};

inline constexpr LogEvent kCallWaits{"call-waits",
                                     "a call waits",
                                     "cc734f07942c400cafa3584189f688b7",
                                     LogLevel::info,
                                     "A trainer's call has waited for wait_notice_ms or longer.",
                                     "look at who is waited for: pacectl status"};

inline constexpr LogEvent kExchangeWaits{"exchange-waits",
                                         "an exchange waits",
                                         "905ef80cfff34212bcec78c850ab878d",
                                         LogLevel::warning,
                                         "Nothing has moved in an exchange for ten seconds.",
                                         "look at the nodes that are named"};

inline constexpr LogEvent kGroupFailed{
    "group-failed",
    "a group's exchange has failed",
    "32cfb2b5711d4766a6d0acfdb25fe574",
    LogLevel::warning,
    "The group's workers keep their buffers as they were, and wait for another group.",
    "look at the nodes that are named, unless one was stopped"};

inline constexpr LogEvent kRoundRedone{
    "round-redone",
    "a round has failed, and is done anew",
    "48ddf357eb7e476697067cc07753a7de",
    LogLevel::warning,
    "Buffers are as they were; the round is done again in the next view.",
    "look at the nodes that are named, unless one was stopped"};

inline constexpr LogEvent kRoundFailed{
    "round-failed",
    "a round has failed",
    "2dbf91d304e9424eb2e0536107a74330",
    LogLevel::warning,
    "A round of a quorum has failed. Its gradients are kept for the next one.",
    "see the reason; look at the other nodes unless one was stopped"};

inline constexpr LogEvent kTransferFailed{
    "transfer-failed",
    "a transfer has failed",
    "1d69079e502542c2b711a27a12e5cdb4",
    LogLevel::warning,
    "A model, or a part of one, did not come to another node.",
    "look at that node, unless it was stopped; the transfer is tried again in the next view"};

inline constexpr LogEvent kJobWithoutMemory{
    "job-without-memory",
    "no memory for a job; what is under way in it here ends",
    "db23306a405e4d7b8776d5e0fe17db2f",
    LogLevel::error,
    "The machine, or the daemon's control group, has no memory left.",
    "free memory, or raise MemoryMax= of the unit"};

inline constexpr LogEvent kModelLost{
    "model-lost",
    "model lost",
    "456382e35dc643bbb677064083a4a005",
    LogLevel::warning,
    "A node that kept a part of the model is gone, and no checkpoint has it.",
    "have every worker call pace_broadcast; set checkpoints to be safe next time"};

inline constexpr LogEvent kModelPartGivenUp{
    "model-part-given-up",
    "this node gives up its part of a model, which is begun anew",
    "c4818cec6b68424ca9b49c88cedaa119",
    LogLevel::error,
    "What the controller orders does not fit what this node keeps.",
    "have every worker call pace_broadcast; report it with this line"};

inline constexpr LogEvent kShardNotKept{
    "shard-not-kept",
    "a shard of a model cannot be kept",
    "3efde658b0f948e1bcfd354911b849e8",
    LogLevel::error,
    "There is no memory for the part of the model that this node is to keep.",
    "free memory on this node, raise memory_max, or use more nodes"};

inline constexpr LogEvent kGradientLost{
    "gradient-lost",
    "a gradient is lost",
    "737586c268f24136a84124005ba57694",
    LogLevel::error,
    "There is no memory to keep a gradient that came late; the training goes on without it.",
    "free memory on this node, or raise memory_max"};

inline constexpr LogEvent kLateRoundLost{
    "late-round-lost",
    "late workers lose a round",
    "9c25e0e8b402493e80861ed07b7891b0",
    LogLevel::error,
    "There is no memory to keep a round's result for those that come later.",
    "free memory on this node, or raise memory_max"};

inline constexpr LogEvent kNewcomerRoundLost{
    "newcomer-round-lost",
    "a newcomer loses a round",
    "c3474c43d1104a0e8ca2c4c90f3384d3",
    LogLevel::error,
    "There is no memory to keep a round's result for a new worker.",
    "free memory on this node, or raise memory_max"};

inline constexpr LogEvent kNewcomerLacksRounds{
    "newcomer-lacks-rounds",
    "a newcomer lacks rounds",
    "964ff8741d424184bb9f66cd8c0a9d54",
    LogLevel::error,
    "A new worker's model goes without the results of some rounds.",
    "have the worker call pace_broadcast, and see the reason"};

inline constexpr LogEvent kRoundLost{"round-lost",
                                     "a round is lost here",
                                     "b5fb77efc50845b3ab074368a0104466",
                                     LogLevel::error,
                                     "No other node has a result that this one missed.",
                                     "have the workers of this node call pace_broadcast"};

inline constexpr LogEvent kResidualLost{
    "residual-lost",
    "what was owed is lost",
    "95fb57cc46dc4cccbad7f8fd38b586c8",
    LogLevel::error,
    "What top-k had left out so far cannot be read from the GPU.",
    "see the reason; the training goes on without it"};

inline constexpr LogEvent kResidualDoubtful{"residual-doubtful",
                                            "what is owed may be wrong",
                                            "6ce6125401434e179b33c06453b4e1e5",
                                            LogLevel::error,
                                            "The result of a top-k round does not fit what this "
                                            "node had sent, and what it owed is dropped.",
                                            "report it with this line if it comes again"};

inline constexpr LogEvent kDebtNotGiven{
    "debt-not-given",
    "what this node owes is lost: it cannot be given",
    "3d4997639a5c4768aa5f0981aa4f64a9",
    LogLevel::warning,
    "This node leaves, and cannot hand on what top-k had left out so far.",
    "see the reason; the training goes on without it"};

inline constexpr LogEvent kDebtNotTaken{
    "debt-not-taken",
    "what a node owes is lost here",
    "513d75fc0cc34c39b0fa067c3f884520",
    LogLevel::warning,
    "A node has left, and what top-k had left out there does not come here.",
    "see the reason; the training goes on without it"};

inline constexpr LogEvent kResultTooLarge{"result-too-large",
                                          "what a node tells of a top-k result is too much",
                                          "09f9bedf9be446d28c5774e090682033",
                                          LogLevel::warning,
                                          "Another node says more than there can be.",
                                          "install the same release of Pace on all nodes"};

inline constexpr LogEvent kLettersBroken{
    "letters-broken",
    "the way of letters about a model is broken",
    "7b012c4a93c344e181b1c253063be3df",
    LogLevel::warning,
    "The connection to a node that keeps a part of a model broke. Another view is asked for.",
    "look at that node, unless it was stopped"};

inline constexpr LogEvent kLettersLate{"letters-late",
                                       "letters about a model do not come: asking for another view",
                                       "fb3304941ac343288c0a34d67e738d7c",
                                       LogLevel::warning,
                                       "A node that keeps a part of a model does not answer.",
                                       "look at the node in the reason"};

inline constexpr LogEvent kLetterNonsense{"letter-nonsense",
                                          "a letter about a model makes no sense",
                                          "e296c3fed3d544dc884c069009ba5b35",
                                          LogLevel::warning,
                                          "Another node says what it may not say in this job, or "
                                          "what cannot be. Its letters of this kind are dropped.",
                                          "install the same release of Pace on all nodes; if all "
                                          "have it, take the node out of use and look at it"};

inline constexpr LogEvent kUpdateWithoutMemory{
    "update-without-memory",
    "no memory to send an update of a model: asking for another view",
    "08095a3debe04462876a29bba5dc9ccd",
    LogLevel::warning,
    "An update waits until there is memory to send it.",
    "free memory on this node, or raise memory_max"};

inline constexpr LogEvent kCheckpointBad{
    "checkpoint-bad",
    "a checkpoint is of no use",
    "4689202031c448ed8c4e830ea22dc12f",
    LogLevel::warning,
    "A checkpoint's file is damaged, or of another model. An older one, or a copy, is taken.",
    "remove the file that is named; look at the disk if it is damaged"};

inline constexpr LogEvent kCheckpointsUnlisted{
    "checkpoints-unlisted",
    "checkpoints cannot be listed",
    "5e9a207893404a6b9b48253698a29d66",
    LogLevel::warning,
    "The folder of checkpoints cannot be read.",
    "see that the folder in checkpoints exists and that the daemon's user may read it"};

inline constexpr LogEvent kCheckpointFailed{
    "checkpoint-failed",
    "a checkpoint cannot be written",
    "c8a8d88dd14844eb94568980f41fac59",
    LogLevel::warning,
    "A part of a checkpoint does not come onto this node's disk. Older checkpoints stay, and the "
    "model goes on.",
    "see the reason; free space on the disk of the folder in checkpoints"};

inline constexpr LogEvent kCheckpointCopyFailed{
    "checkpoint-copy-failed",
    "a copy of another node's checkpoint cannot be kept",
    "f85b1d84097d4b09896e5ff3182b090a",
    LogLevel::warning,
    "This node was to keep a copy of another's part.",
    "see the reason; free space on the disk of the folder in checkpoints"};

}  // namespace pace::base::events
