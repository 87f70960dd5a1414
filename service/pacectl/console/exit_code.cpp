#include "service/pacectl/console/exit_code.h"

namespace pace::pacectl {

using base::ErrorKind;

ExitCode exit_code_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::unavailable:
        case ErrorKind::timeout:
        case ErrorKind::version:
        case ErrorKind::corrupt:
            return kNoDaemon;
        case ErrorKind::no_controller:
            return kNoController;
        case ErrorKind::denied:
            return kRefused;
        default:
            return kNo;
    }
}

}  // namespace pace::pacectl
