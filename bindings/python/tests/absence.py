"""Absence: a worker that is away for a while, and when the others may end."""

import os

RANK = int(os.environ["RANK"])


class Return:
    """Rank 1 is away for a while; the others go on until it is back, and 20 steps more. The file has the last step."""

    def __init__(self):
        self.path = os.environ["PACE_TEST_BACK"]
        self.was_away = os.environ.get("PACE_RESTART_COUNT", "0") != "0"

    def is_end(self, step):
        if RANK == 1 and self.was_away and not os.path.exists(self.path):
            with open(self.path + ".part", "w") as file:
                file.write(str(step + 20))
            os.rename(self.path + ".part", self.path)
        if not os.path.exists(self.path):
            return False
        with open(self.path) as file:
            return step >= int(file.read())
