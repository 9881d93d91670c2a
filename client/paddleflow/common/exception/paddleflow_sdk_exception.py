"""The exception of the original's SDK."""

from __future__ import annotations


class PaddleFlowSDKException(Exception):
    """Something about the pipeline or the call is wrong: `message` says what, `code` of which kind it is."""

    def __init__(self, code: str | None = None, message: str | None = None, requestId: str | None = None) -> None:  # noqa: N803 -- the original's name
        super().__init__(code, message, requestId)
        self.code = code
        self.message = message
        self.requestId = requestId

    def __str__(self) -> str:
        return f"[PaddleFlowSDKException] code:{self.code} message:{self.message} requestId:{self.requestId}"

    def get_code(self) -> str | None:
        return self.code

    def get_message(self) -> str | None:
        return self.message

    def get_request_id(self) -> str | None:
        return self.requestId
