"""What the original's SDK raises."""

from __future__ import annotations

from paddleflow.common.exception.paddleflow_sdk_exception import PaddleFlowSDKException

__all__ = ["PaddleFlowSDKException"]
