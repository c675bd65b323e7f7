"""Preceptor decides what an agent is told, how it reasons and who sees what, and can prove it afterwards.

This is the public API; everything else may change. Parts are loaded when first used: `import preceptor` is free.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preceptor.app import Preceptor, open_preceptor
    from preceptor.settings import Settings

__version__ = "0.1.0"
__all__ = ["Preceptor", "Settings", "__version__", "open_preceptor"]

_HOME = {"Preceptor": "preceptor.app", "open_preceptor": "preceptor.app", "Settings": "preceptor.settings"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'preceptor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
