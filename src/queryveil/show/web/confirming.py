"""Who confirmed which columns: each person for themselves, of the file and the columns that stood on their page."""

from __future__ import annotations

from queryveil.show.web.jobs import DONE, Jobs
from queryveil.show.web.logs import ChosenLog
from queryveil.show.web.sessions import Session


def seen(jobs: Jobs, log: ChosenLog) -> str | None:
    """The digest of a log and its columns as its page shows them now; None until it was read."""
    job = jobs.latest("read", log.id)
    if job is None or job.spec != log.spec or job.state != DONE:
        return None
    return log.digest(job.result["columns"])


def confirmed(jobs: Jobs, session: Session | None, log: ChosenLog) -> bool:
    """Whether this person said that the columns are right, as they are read now and of the file as it is now."""
    now = seen(jobs, log)
    return now is not None and session is not None and session.confirmed.get(log.id) == now
