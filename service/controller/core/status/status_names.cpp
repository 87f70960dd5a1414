// Status names: the words for the status values.
#include "service/controller/core/status/status.h"

namespace pace::controller {

std::string_view name_of(NodeStatus status) {
    switch (status) {
        case NodeStatus::alive:
            return "alive";
        case NodeStatus::suspected:
            return "suspected";
        case NodeStatus::gone:
            return "gone";
    }
    return "?";
}

std::string_view name_of(Doing doing) {
    switch (doing) {
        case Doing::nothing:
            return "";
        case Doing::computing:
            return "computing";
        case Doing::waiting:
            return "waiting";
        case Doing::exchanging:
            return "exchanging";
        case Doing::stopped:
            return "stopped";
        case Doing::unreachable:
            return "unreachable";
    }
    return "?";
}

std::string_view name_of(JobStage stage) {
    switch (stage) {
        case JobStage::joining:
            return "joining";
        case JobStage::running:
            return "running";
        case JobStage::finished:
            return "finished";
    }
    return "?";
}

std::string_view name_of(WorkerStatus status) {
    switch (status) {
        case WorkerStatus::joined:
            return "joined";
        case WorkerStatus::active:
            return "active";
        case WorkerStatus::newcomer:
            return "newcomer";
        case WorkerStatus::late:
            return "late";
        case WorkerStatus::suspended:
            return "suspended";
        case WorkerStatus::missing:
            return "missing";
        case WorkerStatus::left:
            return "left";
        case WorkerStatus::lost:
            return "lost";
    }
    return "?";
}

}  // namespace pace::controller
