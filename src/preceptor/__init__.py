"""Preceptor decides what an agent is told, how it reasons and who sees what, and can prove it afterwards.

This is the public API; everything else may change. Parts are loaded when first used: `import preceptor` is free.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preceptor.adapters.models.registry import ModelRegistry
    from preceptor.adapters.tools.function import ToolError, ToolRun, tool
    from preceptor.app import Preceptor, open_preceptor
    from preceptor.domain.errors import PreceptorError
    from preceptor.engine.means.hearing import Hearers
    from preceptor.settings import Settings

try:
    from preceptor._version import __version__
except ImportError:  # never built: straight from a folder of sources
    __version__ = "0.1.0.dev0"
__all__ = [
    "Hearers",
    "ModelRegistry",
    "Preceptor",
    "PreceptorError",
    "Settings",
    "ToolError",
    "ToolRun",
    "__version__",
    "open_preceptor",
    "tool",
]

_HOME = {
    "Preceptor": "preceptor.app",
    "open_preceptor": "preceptor.app",
    "Hearers": "preceptor.engine.means.hearing",
    "ModelRegistry": "preceptor.adapters.models.registry",
    "PreceptorError": "preceptor.domain.errors",
    "Settings": "preceptor.settings",
    "tool": "preceptor.adapters.tools.function",
    "ToolError": "preceptor.adapters.tools.function",
    "ToolRun": "preceptor.adapters.tools.function",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'preceptor' has no attribute {name!r}")
    home = sys.modules.get(_HOME[name]) or _loaded(_HOME[name])
    return getattr(home, name)


def _loaded(home: str) -> ModuleType:
    """Nothing of what is loaded is garbage: looking through it would be a tenth of the time, and again at the end."""
    starting, collecting = gc.get_stats()[2]["collections"] == 0, gc.isenabled()
    gc.disable()
    try:
        return import_module(home)
    finally:
        if starting:  # otherwise what the program has made since might become garbage, and be kept
            gc.freeze()
        if collecting:
            gc.enable()
