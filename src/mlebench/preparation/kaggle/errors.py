"""What Kaggle can refuse, each with the way out."""

from __future__ import annotations

from typing import Self

from mlebench.errors import PreparationError, UsageError

WEBSITE = "https://www.kaggle.com"
SETTINGS = f"{WEBSITE}/settings"
BY_HAND = "or get its zip in another way and give it: --source FILE.zip"
JOINED_ON_DATA_TAB = frozenset(
    {"detecting-insults-in-social-commentary", "the-icml-2013-whale-challenge-right-whale-redux"}
)


class BadCredentials(UsageError):
    """Kaggle does not know the token or key that was sent."""


class KaggleError(PreparationError):
    """Kaggle refused, could not be reached, or answered what can't be understood.

    `page` is what to open in a browser about it, if anything; `reason` says it in a few words, without the id.
    """

    def __init__(self, message: str, page: str = "", reason: str = "") -> None:
        self.page, self.reason = page, reason or message
        super().__init__(message)


class RulesNotAccepted(KaggleError):
    """The user has not joined the competition. `page` is where that is done."""

    @classmethod
    def of(cls, competition: str, told: str = "") -> Self:
        """For a competition, with what Kaggle says."""
        page = joining_page(competition)
        return cls(
            f"{competition}: Kaggle gives out the data only to those who have accepted the competition's "
            f"rules{_quoted(told)}. Open {page}{which_tab(competition)}, join and accept them, then run the same "
            "command again",
            page,
            f"the rules are not accepted{_quoted(told)}",
        )


class PhoneNotVerified(KaggleError):
    """Kaggle wants to know the user's phone number first."""

    @classmethod
    def of(cls, competition: str, told: str) -> Self:
        """For a competition, with what Kaggle says."""
        return cls(
            f"{competition}: Kaggle wants an account with a verified phone number{_quoted(told)}. Verify yours once "
            f"at {SETTINGS}, accept the rules at {joining_page(competition)}, then run the same command again",
            SETTINGS,
            f"the account's phone number is not verified{_quoted(told)}",
        )


class NotJoinable(KaggleError):
    """The competition's data are not given out, whatever the user accepts."""

    @classmethod
    def of(cls, competition: str, told: str = "") -> Self:
        """For a competition, with what Kaggle says."""
        page, said = data_page(competition), _quoted(told) or " although you have joined, and tells no reason"
        return cls(
            f"{competition}: Kaggle refuses the data{said}: the competition may be closed or its data withdrawn. "
            f"Look at {page}, {BY_HAND}",
            page,
            f"Kaggle refuses the data{said}: it may be closed",
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


def joining_page(competition: str) -> str:
    """Where a user joins a competition and accepts its rules."""
    return f"{_home(competition)}/{'data' if competition in JOINED_ON_DATA_TAB else 'rules'}"


def data_page(competition: str) -> str:
    """Where the competition's files are listed."""
    return f"{_home(competition)}/data"


def which_tab(competition: str) -> str:
    """A remark for the two that are joined elsewhere than all others."""
    return " (joined on its tab Data)" if competition in JOINED_ON_DATA_TAB else ""


def _home(competition: str) -> str:
    return f"{WEBSITE}/competitions/{competition}"


def _quoted(told: str) -> str:
    return f' ("{told}")' if told else ""
