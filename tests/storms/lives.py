"""Lives of a job: when all processes that knew of the job are gone, its rounds begin again with number 0."""

BACK = 50  # if a round's number is this much lower, the worker was frozen, or the numbers have begun again


class Lives:
    """Which life a round belongs to, as far as its number shows."""

    def __init__(self):
        self.newest = {}  # job: (life, number)

    def of(self, job, number):
        life, newest = self.newest.get(job, (0, 0))
        begins = number <= 1 and newest > 8
        if begins or newest - number > BACK:
            life, newest = life + 1, number
        self.newest[job] = (life, max(newest, number))
        return life
