"""Checks of the arguments of public functions against their annotations.

`queryveil.__getattr__` wraps each public function, so that a wrong argument raises UsageError where it is passed, and
not deep inside. Code in this package imports the functions from their modules, without this check.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import numbers
import os
import re
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import queryveil
from queryveil.errors import UsageError

_NUMBERS: dict[Any, type] = {float: numbers.Real, int: numbers.Integral}
_UNIONS = (typing.Union, types.UnionType)
_CONTAINERS = (list, tuple, set, frozenset)


def check_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a public function of this package that refuses arguments of other types than its annotations.

    Args:
        function: A function whose name is public.

    Returns:
        A function that raises UsageError, or returns what `function` returns. It is pickled by its public name.
    """

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        signature, hints = _declared(function)
        # Missing and unknown arguments raise TypeError in the call below, as in any function.
        for name, value in _bound(signature, args, kwargs).items():
            if not _fits(value, hints.get(name, Any)):
                raise UsageError(
                    f"{name!r} must be of type {' or '.join(dict.fromkeys(_names(hints[name])))}, "
                    f"not {type(value).__name__}",
                    f"the arguments are {function.__name__}({', '.join(_positional(signature))})",
                )
        return function(*args, **kwargs)

    checked.__module__ = __package__
    return checked


@functools.cache
def _declared(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(function), typing.get_type_hints(function, localns=_public_types(function))


def _public_types(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the public names in the annotations of a function: modules may import them for type checkers alone."""
    names = set(re.findall(r"\w+", " ".join(map(str, function.__annotations__.values()))))
    return {name: getattr(queryveil, name) for name in names.intersection(queryveil.__all__)}


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name: value for name, value in given.items() if signature.parameters[name].kind not in kinds}


def _positional(signature: inspect.Signature) -> list[str]:
    kind = inspect.Parameter.KEYWORD_ONLY
    several = [name for name, one in signature.parameters.items() if one.kind < kind]
    return [*several, "..."] if len(several) < len(signature.parameters) else several


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value can be of an annotated type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        return any(_fits(value, one) for one in inner)
    if origin is typing.Literal:
        return any(isinstance(value, type(one)) for one in inner)
    kind = _NUMBERS.get(hint, origin or hint)
    return _is_instance(value, kind) and (kind is collections.abc.Callable or _items_fit(value, inner))


def _is_instance(value: Any, kind: Any) -> bool:
    if isinstance(kind, type) and kind.__module__.startswith("numpy._typing"):
        return True  # one of the protocols of ArrayLike: NumPy itself refuses what is no array
    try:
        return isinstance(value, os.PathLike if kind is Path else kind)
    except TypeError:  # Any, a type variable, or a protocol that only type checkers can test
        return True


def _items_fit(value: Any, inner: tuple[Any, ...]) -> bool:
    """Return whether the items of a container can be of the types in brackets; those of a stream are not read."""
    # A text is a sequence of texts too, and bytes are one of numbers, but nobody means that.
    if not inner or isinstance(value, str | bytes):
        return not inner
    if isinstance(value, dict) and len(inner) == 2:
        return all(_fits(name, inner[0]) and _fits(one, inner[1]) for name, one in value.items())
    if len(inner) > 1 and ... not in inner:
        return True
    return not isinstance(value, _CONTAINERS) or all(_fits(one, inner[0]) for one in value)


def _names(hint: Any) -> Iterator[str]:
    if typing.get_origin(hint) in _UNIONS:
        for one in typing.get_args(hint):
            yield from _names(one)
    elif hint is not types.NoneType:
        kind = typing.get_origin(hint) or hint
        yield kind.__name__ if isinstance(kind, type) else str(kind)
