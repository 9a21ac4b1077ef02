"""How requests to the API say who sends them."""

from __future__ import annotations

import time
from collections.abc import Generator

import httpx

from mlebench.preparation.kaggle.credentials import Credentials
from mlebench.preparation.kaggle.errors import SETTINGS, BadCredentials, KaggleError

LIFETIME = 43_200  # seconds that an access token is asked for
EARLY = 300  # so many before its end, another one is


class Authorization(httpx.Auth):
    """Sends the credentials along. With a sign-in, an access token, got from Kaggle first and whenever it is over.

    The token is kept in memory alone. Raises BadCredentials if the sign-in is over.
    """

    requires_response_body = True

    def __init__(self, credentials: Credentials, url: str) -> None:
        self._credentials, self._url = credentials, url
        self._header = "" if credentials.is_sign_in else credentials.authorization
        self._end = float("inf")  # of the token, by the clock that never jumps

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """The requests to send; the last one's response is what the caller gets, also if no token was to be had."""
        is_new = not self._header or time.monotonic() > self._end
        if is_new and not self._take((yield self._asking())):
            return
        request.headers["Authorization"] = self._header
        response = yield request
        may_be_over = response.status_code == 401 and self._credentials.is_sign_in and not is_new
        if may_be_over and self._take((yield self._asking())):
            request.headers["Authorization"] = self._header
            yield request

    def _asking(self) -> httpx.Request:
        """The request for an access token."""
        fields = {"refreshToken": self._credentials.secret, "apiVersion": "API_VERSION_V1"}
        body = {**fields, "expirationDuration": f"{LIFETIME}s"}
        return httpx.Request("POST", f"{self._url}/users.AccountService/GenerateAccessToken", json=body)

    def _take(self, response: httpx.Response) -> bool:
        """Keep the token that came; whether one did."""
        if 400 <= response.status_code < 500 and response.status_code not in (408, 429):
            raise BadCredentials(
                f"Kaggle does not accept the sign-in from {self._credentials.source} any more (HTTP "
                f"{response.status_code}): run `kaggle auth login` again, or create an API token at {SETTINGS}"
            )
        if response.status_code >= 400:
            return False
        try:
            answer = response.json()
            self._header = Credentials(self._credentials.source, answer["token"]).authorization
            lifetime = float(str(answer.get("expiresIn", LIFETIME)).rstrip("s"))
        except (ValueError, TypeError, KeyError) as error:
            raise KaggleError("Kaggle's answer is not understood: it holds no access token") from error
        self._end = time.monotonic() + lifetime - EARLY
        return True
