"""Which ends of calls are right. The allowed outcomes depend on the disturbances since the worker's last result."""

GRACE_NS = 5e9  # how long a disturbance has effects after its end

# A trainer that follows the documents never gets these.
NEVER = {"PACE_E_INVALID", "PACE_E_HANDLE", "PACE_E_VERB", "PACE_E_MISMATCH", "PACE_E_VERSION", "PACE_E_LIMIT",
         "PACE_E_MEMORY", "PACE_E_DISK", "PACE_E_DENIED", "PACE_E_CLOSED", "PACE_E_INTERNAL", "PACE_E_REFUSED", "PACE_E_UNSUPPORTED",
         "PACE_CANCELED"}
# Only a fault of the worker's own process or node excuses the first set. A fault of the controller
# excuses the second set, too.
OWN = {"PACE_E_DAEMON_GONE"}
OWN_OR_CONTROLLER = {"PACE_E_NO_CONTROLLER", "PACE_E_TAKEN"}
SERVED = ("ssp", "bsp")


class Ends:
    """Judges each end that is not OK."""

    def __init__(self, blame, disturbances):
        self.blame, self.disturbances = blame, disturbances

    def take(self, worker, line):
        status = line["status"]
        if status in NEVER and not self.lacks_root(line):
            self.blame(f"{worker}: {line.verb} ended as {status}: {line.text}")
        elif not self.disturbed(self.excuses(worker, line), worker, line.ns):
            self.blame(f"{worker}, whom nothing has disturbed since its last result, "
                       f"{(line.ns - worker.last_ok_ns) / 1e9:.1f} s ago: {line.verb} ended as {status}: {line.text}")

    # The documents name this end of a broadcast whose root is not there, and say: call again.
    @staticmethod
    def lacks_root(line):
        return line.verb == "broadcast" and line["status"] == "PACE_E_REFUSED" and "is not a member of the job now" in line.text

    def excuses(self, worker, line):
        """The processes of which at least one must have been disturbed."""
        status = line["status"]
        own = {worker.name, worker.node}
        if status in OWN or status == "PACE_E_NOT_FOUND" and line.verb == "open":
            return own
        if status in OWN_OR_CONTROLLER:
            return own | {"controller"}
        # The model of a parameter server comes back from a checkpoint when any node dies.
        if status == "PACE_STALE" and worker.family not in SERVED:
            return own | {"journal"}  # without the journal another node may get this node's number
        return None

    def disturbed(self, names, worker, now_ns):
        """Whether any of these processes was disturbed. Without names: whether any process was disturbed."""
        names = self.disturbances.spells if names is None else names
        return self.disturbances.any(names, worker.last_ok_ns - GRACE_NS, now_ns)
