"""The wrapping keys that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proxy.adapters.vault import kms
from proxy.adapters.vault.wrapper import Local
from proxy.config import ConfigError, UnsetError
from proxy.core import sealing
from proxy.mistake import lacking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.adapters.vault.wrapper import Wrapper
    from proxy.config import Encryption


def wrappers(
    settings: Encryption, environ: Mapping[str, str], kms_there: Callable[[], bool] = kms.installed
) -> tuple[Wrapper, ...]:
    """The key that seals first, then those that older values may be opened with; none: nothing is
    to be sealed. Nobody is asked for anything yet. `kms_there`: whether the driver of KMS is.

    Raises: ConfigError.
    """
    if not settings.key:
        if settings.old_keys:
            raise ConfigError(
                "expected a key, since there are `old_keys` - at `cache.encryption.key`"
            )
        return ()
    old = [(name, f"old_keys[{i}]") for i, name in enumerate(settings.old_keys)]
    if not kms_there():
        _without_kms([(settings.key, "key"), *old])
    return tuple(_wrapper(name, environ, where) for name, where in [(settings.key, "key"), *old])


def _without_kms(named: Sequence[tuple[str, str]]) -> None:
    """Where its driver is not installed. Raises: ConfigError."""
    for name, where in named:
        if name.startswith("aws-kms:"):
            raise ConfigError(f"{lacking('kms')} - at `cache.encryption.{where}`")


def _wrapper(name: str, environ: Mapping[str, str], where: str) -> Wrapper:
    setting = f"cache.encryption.{where}"
    at = f"at `{setting}`"
    kind, _, rest = name.partition(":")
    if kind not in ("env", "file", "aws-kms") or not rest:
        raise ConfigError(f"expected env:NAME, file:PATH or aws-kms:KEY, not the key itself - {at}")
    if kind == "aws-kms":
        return kms.Kms(rest)
    text = _from_file(rest, at) if kind == "file" else _from_environment(rest, environ, setting)
    master = sealing.material(text)
    if master is None:
        raise ConfigError(f"expected 32 bytes in base64 or hexadecimal in {kind}:{rest} - {at}")
    return Local(master)


def _from_environment(name: str, environ: Mapping[str, str], where: str) -> bytes:
    value = environ.get(name)
    if not value:
        raise UnsetError(name, where)
    return value.encode("utf-8", "surrogateescape")


def _from_file(path: str, at: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"cannot read {path}: {type(error).__name__} - {at}") from error
