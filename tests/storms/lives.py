"""Lives of a job: when all that knew of it are gone, its rounds begin again with number 0."""

BACK = 50  # whoever is told of a round so much later was frozen, or the numbers have begun anew


class Lives:
    """Which life a round is of, as far as its number tells."""

    def __init__(self):
        self.newest = {}  # job: (life, number)

    def of(self, job, number):
        life, newest = self.newest.get(job, (0, 0))
        begins = number <= 1 and newest > 8
        if begins or newest - number > BACK:
            life, newest = life + 1, number
        self.newest[job] = (life, max(newest, number))
        return life
