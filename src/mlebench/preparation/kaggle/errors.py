"""What Kaggle can refuse, each with the way out."""

from __future__ import annotations

from mlebench.errors import PreparationError, UsageError

WEBSITE = "https://www.kaggle.com"
BY_HAND = "or get its zip in another way and give it: --source FILE.zip"


class BadCredentials(UsageError):
    """Kaggle does not know the token or key that was sent."""


class KaggleError(PreparationError):
    """Kaggle refused, could not be reached, or answered what can't be understood."""


class RulesNotAccepted(KaggleError):
    """The user has not joined the competition. `page` is where that is done, in a browser."""

    def __init__(self, competition: str, told: str = "") -> None:
        said = f' ("{told}")' if told else ""
        self.page = f"{WEBSITE}/competitions/{competition}/rules"
        super().__init__(
            f"{competition}: Kaggle gives out the data only to those who have accepted the competition's rules{said}. "
            f"Open {self.page}, join and accept them, then run the same command again"
        )


class NotJoinable(KaggleError):
    """The competition's data are not given out any more, whatever the user accepts."""

    def __init__(self, competition: str, told: str = "") -> None:
        said = f' ("{told}")' if told else ""
        super().__init__(
            f"{competition}: Kaggle refuses the data although nothing is left to accept{said}: the competition is "
            f"closed or its data were withdrawn. Look at {WEBSITE}/competitions/{competition}/data, {BY_HAND}"
        )


class NotFound(KaggleError):
    """Kaggle has no such competition, file, page or notebook."""


class DamagedDownload(KaggleError):
    """What arrived is not what Kaggle says that it has, or no zip archive."""


class Transient(KaggleError):
    """A failure that may pass: worth another try, after `retry_after` seconds if the server named a time."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class RateLimited(Transient):
    """Too many requests."""


class Unreachable(Transient):
    """No connection, a broken one, or a failure of the server."""
