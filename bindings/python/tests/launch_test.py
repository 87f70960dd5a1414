#!/usr/bin/env python3
"""The launcher's environment says which worker this is."""

import unittest

import support
from support import pace

LAUNCHERS = {
    "torchrun": {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "one"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                 "PACE_RUN_ID": "one"},
    "MPICH": {"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "PACE_RUN_ID": "one"},
    "Slurm": {"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"},
}


class Launchers(unittest.TestCase):
    def test_each_launcher_is_understood(self):
        for name, environment in LAUNCHERS.items():
            with self.subTest(name):
                found = pace.launch.detect(environment)
                self.assertEqual(found, pace.launch.Launch(name, 3, 8, 1))

    def test_mpirun_within_slurm_counts(self):
        both = {**LAUNCHERS["Slurm"], **LAUNCHERS["Open MPI"], "SLURM_PROCID": "0"}
        self.assertEqual(pace.launch.detect(both).rank, 3)

    def test_without_a_launcher_there_is_none(self):
        self.assertIsNone(pace.launch.detect({}))

    def test_half_a_launcher_is_told(self):
        for environment in ({"RANK": "1"}, {"RANK": "one", "WORLD_SIZE": "2"}, {"RANK": "-1", "WORLD_SIZE": "2"}):
            with self.assertRaises(pace.Invalid):
                pace.launch.detect(environment)

    def test_a_session_takes_rank_world_and_run_from_it(self):
        code = "import pace; i = pace.Session('launched', 'all-reduce').info; print(i.rank, i.world, i.run)"
        for name, run in (("torchrun", "torchrun-one"), ("Slurm", "slurm-17.0")):
            with self.subTest(name), support.Child("-c", code, **LAUNCHERS[name]) as child:
                code_of_child, output, errors = child.end()
                self.assertEqual((code_of_child, errors), (0, ""))
                self.assertEqual(output.split(), ["3", "8", run])


if __name__ == "__main__":
    support.main()
