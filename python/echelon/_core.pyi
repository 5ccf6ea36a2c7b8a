# SPDX-License-Identifier: BSD-3-Clause
# The extension is private: its functions take what the Python code has checked.
from typing import Any

version: str

def __getattr__(name: str) -> Any: ...
