"""A conversation as the terminal has it."""

from typing import Any

import msgspec

from preceptor.surfaces.cli.connection import Api, Declined, path_to
from preceptor.surfaces.cli.telling import Teller

DEFAULT = "assistant"
UNSAID = {"status": "cancelled", "sentence": "It was still waiting for others, so it was not said."}


class Talk(msgspec.Struct):
    """It begins with the first thing that is said."""

    api: Api
    agent: str = DEFAULT
    conversation: str | None = None
    last: dict[str, Any] | None = None
    """The turn before."""
    queue: bool = False
    """Whether to wait while another turn runs in the conversation."""

    @property
    def path(self) -> str:
        if self.conversation is None:
            made = self.api.post("/api/conversations", {"agentId": self.agent})
            self.conversation = made["conversationId"]
        return path_to("/api/conversations", str(self.conversation))

    def say(self, text: str, teller: Teller) -> dict[str, Any]:
        """Say it and hear what comes of it. Ctrl-C cancels the turn; while it waits for others, only the waiting."""
        path, heard = self.path, list[str]()

        def hear(event: str, data: dict[str, Any]) -> None:
            heard.append(event)
            teller.hear(event, data)

        try:
            self.api.follow(f"{path}/messages", {"content": text} | ({"queue": True} if self.queue else {}), hear)
        except KeyboardInterrupt:
            mine = heard or not self.queue
            teller.hear("turn.cancelled", self._cancelled() if mine else UNSAID)
        except Declined as declined:
            if self.queue or declined.problem != "turn_in_progress":
                raise
            raise Declined(declined.status, declined.problem, f"{declined} With --queue it waits.") from None
        self.last = teller.turn
        return teller.turn

    def _cancelled(self) -> dict[str, Any]:
        nothing = {"status": "cancelled", "sentence": "The turn was cancelled."}
        try:
            return nothing | self.api.post(f"{self.path}/cancel")
        except Declined as declined:
            if declined.status != 409:
                raise
            return nothing  # it had not begun
