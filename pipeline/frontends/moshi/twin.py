"""A tensor on the device and its like in the host's memory, which the device can reach itself."""

from typing import Any

import torch


class Twin:
    """Copies do not wait; whoever reads `array` after `download` waits for the device first."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        self._host = torch.zeros(shape, dtype=dtype, pin_memory=device.type == "cuda")
        self._there = torch.zeros(shape, dtype=dtype, device=device)
        self.array: Any = self._host.numpy()
        """The host's side."""

    def upload(self) -> torch.Tensor:
        return self._there.copy_(self._host, non_blocking=True)

    def download(self, tensor: torch.Tensor) -> None:
        self._host.copy_(tensor, non_blocking=True)
