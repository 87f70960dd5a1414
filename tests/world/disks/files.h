// Files: the files of all machines' disks, of which a death leaves what a real disk does. They are
// real files; what is known here is which of their contents and names a power cut may still take.
//
// A file's contents are durable once the file is synced, and a name once its folder is. A power cut
// leaves any part of contents that were not synced, perhaps with zeros behind it. Of changes of
// names that were not synced it leaves those before some moment.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/simulation/simulated_files.h"
#include "daemon/server/checkpoint_folder.h"
#include "tests/world/clockwork.h"
#include "tests/world/ledger.h"
#include "tests/world/machine.h"

namespace pace::world {

// Whether a point is passed before a step that is done to a file.
bool is_file_point(std::string_view point);

class Files final : public base::SimulatedFiles {
  public:
    // Called before each step that changes a file. False: the process has died there. It leaves a
    // part of a write.
    using Point = std::function<bool(const char* point, MachineId machine)>;

    // Every machine's disk is a folder in `folder`.
    Files(Clockwork& clockwork, Ledger& ledger, std::string folder, uint32_t machines, Point point);

    // For checkpoints; it is not there at first.
    std::string folder_of(MachineId machine) const { return disk_of(machine) + "/checkpoints"; }

    // The process that writes them is there, or is not there any more.
    void begin(MachineId machine) { disks_.at(machine).is_used = true; }
    void end(MachineId machine) { disks_.at(machine).is_used = false; }
    // Takes what was not synced.
    void cut_power(MachineId machine);
    // There is no room for writes. Or syncs, reads and lists fail.
    void fill(MachineId machine, bool full) { disks_.at(machine).full += full ? 1 : -1; }
    void set_broken(MachineId machine, bool broken) {
        disks_.at(machine).broken += broken ? 1 : -1;
    }
    // Changes one checkpoint of those that are there: its end is cut off or is zeros, or a bit is
    // another one.
    void damage(MachineId machine);

    // Whether a power cut could take any of the machine's checkpoints of this name, whatever its
    // number of shards. Those that are not there are not taken.
    bool may_lose(MachineId machine, const server::CheckpointName& name) const;

  private:
    using Kind = base::FileStep::Kind;
    struct Change {
        Kind kind{};
        std::string path;
        std::string from{};               // of a rename
        bool replaces = false;            // a rename of another file of this name
        std::vector<std::byte> before{};  // the file that is removed or replaced
    };
    struct Disk {
        bool is_used = false;
        int full = 0;
        int broken = 0;
        std::set<std::string> unsynced;  // files
        std::deque<Change> changes;      // of names
    };

    int before(const base::FileStep& step) override;
    int failure(const Disk& disk, const base::FileStep& step);
    void write_part(const base::FileStep& step);
    void note(Disk& disk, const base::FileStep& step);
    void tear(const std::string& path);
    static void undo(const Change& change);
    std::string disk_of(MachineId machine) const;
    MachineId machine_of(std::string_view path) const;

    Clockwork& clockwork_;
    Ledger& ledger_;
    std::string folder_;
    std::vector<Disk> disks_;
    Point point_;
};

}  // namespace pace::world
