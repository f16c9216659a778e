import asyncio
from itertools import count

from .store import Clock, Job, Store

# Seconds before each further attempt.
BACKOFF = [1, 5, 30, 120, 600]
LIMIT = 4


class Queue:
    """Jobs in the order in which they are due."""

    def __init__(self, store: Store, clock: Clock):
        self.store = store
        self.clock = clock
        self.jobs: dict[int, Job] = {}
        self.running = 0
        self.bell = asyncio.Event()

    def take(self) -> Job | None:
        """The next job that is due, if any."""
        if self.running >= LIMIT:
            return None
        now = self.clock.now()
        best = None
        for job in self.jobs.values():
            if job.state != "ready":
                continue
            if job.run_at > now:
                continue
            if best and best.run_at <= job.run_at:
                continue
            best = job
        if best:
            best.state = "running"
            self.running += 1
        return best

    async def fail(self, number: int, why: str):
        """It is tried again, but not for ever."""
        job = self.jobs.get(number)
        if job is None:
            raise KeyError(f"no job {number}")
        self.running -= 1
        job.attempts += 1
        job.why = why
        if job.attempts > len(BACKOFF):
            job.state = "failed"
            await self.store.bury(job)
        else:
            job.state = "ready"
            job.run_at = self.due(job)
            await self.store.put(job)
        self.wake()

    def wake(self):
        """Sets the timer to the next job."""
        if self.timer:
            self.timer.cancel()
            self.timer = None
        if self.running >= LIMIT:
            return
        times = [
            job.run_at
            for job in self.jobs.values()
            if job.state == "ready"
        ]
        if not times:
            return
        wait = max(0, min(times) - self.clock.now())
        loop = asyncio.get_running_loop()
        self.timer = loop.call_later(wait, self.ring)

    async def done(self, number: int):
        self.running -= 1
        del self.jobs[number]
        await self.store.remove(number)
        self.wake()

    def due(self, job: Job) -> float:
        last = len(BACKOFF) - 1
        wait = BACKOFF[min(job.attempts, last)]
        return self.clock.now() + wait

    async def add(self, kind: str, payload: dict):
        number = next(self.numbers)
        job = Job(
            number=number,
            kind=kind,
            payload=payload,
            state="ready",
            attempts=0,
            run_at=self.clock.now(),
        )
        await self.store.put(job)
        self.jobs[number] = job
        self.wake()
        return number

    async def open(self):
        """Loads what an earlier process left."""
        last = 0
        for job in await self.store.all():
            # Its process ended before the job did.
            if job.state == "running":
                job.attempts += 1
                job.state = "ready"
                job.run_at = self.due(job)
                await self.store.put(job)
            self.jobs[job.number] = job
            last = max(last, job.number)
        self.numbers = count(last + 1)
        self.wake()

    def ring(self):
        self.timer = None
        self.bell.set()

    async def each(self):
        """Every job, when it is due."""
        while True:
            job = self.take()
            if job is None:
                await self.bell.wait()
                self.bell.clear()
            else:
                yield job
