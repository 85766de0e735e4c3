"""Options that several commands share, as decorators: output, engine, decision point, store.

Each has its `GATE_*` environment twin. Parses and checks what goes together; opens nothing.
"""

from __future__ import annotations

import functools
import getpass
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from gate.documents.releases import is_version
from gate.pdp import VerificationKey
from gate.release.signing import read_signing_key

Function = TypeVar("Function", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
"""A path that the command itself looks at, so that its errors read like all others."""

ENGINES = ("opa", "embedded")


def option(*names: str, **settings: Any) -> Callable[[Function], Function]:
    """`click.option` whose help names its environment twin."""
    return click.option(*names, **{"show_envvar": True, **settings})


def output_option(*more: str) -> Callable[[Function], Function]:
    """`--output text|json` and the forms in `more`."""
    return option(
        "--output",
        type=click.Choice(["text", "json", *more]),
        default="text",
        show_default=True,
        envvar="GATE_OUTPUT",
        help="Form of the result on stdout.",
    )


def engine_option(function: Function) -> Function:
    """`--engine opa|embedded`; None when neither was asked for."""
    return option(
        "--engine",
        type=click.Choice(ENGINES),
        envvar="GATE_ENGINE",
        help="What evaluates the Rego. Default: opa when the pinned OPA is found, else embedded.",
    )(function)


def input_option(function: Function) -> Function:
    """`--input FILE|-`."""
    return option(
        "--input",
        "source",
        required=True,
        metavar="FILE|-",
        envvar="GATE_INPUT",
        help="Input document as strict JSON (schemas/input.schema.json); - reads stdin.",
    )(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointOptions:
    """How a decision point is reached: exactly one of `bundle` and `opa_url` is set."""

    bundle: Path | None
    opa_url: str | None
    token_file: Path | None
    revision: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Which records of which tenant, and how long to wait for a lock in milliseconds."""

    url: str
    tenant: str
    busy_timeout_ms: int


def sidecar_options(*, required: bool) -> Callable[[Function], Function]:
    """`--opa`, `--token-file`, `--revision`, as plain parameters `opa_url`, `token_file`, `revision`."""

    def decorate(function: Function) -> Function:
        for one in (
            option("--revision", envvar="GATE_REVISION", help="The revision OPA must be serving."),
            option(
                "--token-file",
                type=PATH,
                required=required,
                envvar="GATE_TOKEN_FILE",
                help="File with OPA's bearer token, readable by its owner only.",
            ),
            option(
                "--opa",
                "opa_url",
                required=required,
                metavar="URL",
                envvar="GATE_OPA_URL",
                help="OPA sidecar: http://127.0.0.1:PORT or unix:///PATH.",
            ),
        ):
            function = one(function)
        return function

    return decorate


def point_options(function: Function) -> Function:
    """Either `--bundle` or `--opa` with `--token-file` and `--revision`; handed over as `point`."""

    @functools.wraps(function)
    def checked(
        *, bundle: Path | None, opa_url: str | None, token_file: Path | None, revision: str | None, **others: Any
    ) -> Any:
        if (bundle is None) == (opa_url is None):
            raise click.UsageError("name the decision point: either --bundle, or --opa with its token and revision")
        if opa_url is not None and (token_file is None or revision is None):
            raise click.UsageError("--opa needs --token-file and --revision")
        point = PointOptions(bundle=bundle, opa_url=opa_url, token_file=token_file, revision=revision)
        return function(point=point, **others)

    decorated = sidecar_options(required=False)(checked)
    bundle_option = option(
        "--bundle",
        type=PATH,
        envvar="GATE_BUNDLE",
        help="Compile this bundle and decide inside the process: for trying out, not for production.",
    )
    return bundle_option(decorated)  # type: ignore[return-value] # the parameters differ, the command does not


def store_options(function: Function) -> Function:
    """`--store`, `--tenant` and `--store-timeout`, handed over as `records`."""

    @functools.wraps(function)
    def gathered(*, store: str, tenant: str, store_timeout: int, **others: Any) -> Any:
        return function(records=StoreOptions(url=store, tenant=tenant, busy_timeout_ms=store_timeout), **others)

    decorated: Any = gathered
    for one in (
        option(
            "--store-timeout",
            type=click.IntRange(0, 3_600_000),
            default=5000,
            show_default=True,
            envvar="GATE_STORE_TIMEOUT",
            help="How long to wait for a locked store, in milliseconds.",
        ),
        option("--tenant", required=True, envvar="GATE_TENANT", help="Tenant whose records these are."),
        option(
            "--store",
            required=True,
            metavar="URL",
            envvar="GATE_STORE",
            help="The records, which must be there: sqlite:////absolute/path.sqlite.",
        ),
    ):
        decorated = one(decorated)
    return decorated  # type: ignore[no-any-return] # the parameters differ, the command does not


def environment_option(function: Function) -> Function:
    """`--environment`: the deployment that approvals are signed for."""
    return option(
        "--environment",
        default="default",
        show_default=True,
        envvar="GATE_ENVIRONMENT",
        help="Deployment the gate runs in; signed into every vote.",
    )(function)


def signing_options(function: Function) -> Function:
    """`--signing-key` and `--key-id`, handed over as `signing_key`; None when nothing is to be signed."""
    return _key_options(
        function,
        "signing_key",
        "--signing-key",
        read_signing_key,
        help_text="Private key to sign the bundle and its provenance with; `gate keys new` makes one.",
    )


def verification_options(function: Function) -> Function:
    """`--verification-key` and `--key-id`, handed over as `key`; None when no signature is asked for."""
    return _key_options(
        function,
        "key",
        "--verification-key",
        VerificationKey.read,
        help_text="Public key the bundle and its provenance must be signed with.",
    )


def _key_options(function: Function, name: str, flag: str, read: Callable[..., Any], *, help_text: str) -> Function:
    """A file of a key and the key's id, read together and handed over as `name`; None without the file."""

    @functools.wraps(function)
    def with_key(*, key_file: Path | None, key_id: str | None, **others: Any) -> Any:
        if key_id is not None and key_file is None:
            raise click.UsageError(f"--key-id needs {flag}")
        return function(**{name: None if key_file is None else read(key_file, key_id=key_id)}, **others)

    variable = "GATE_" + flag.removeprefix("--").replace("-", "_").upper()
    decorated: Any = with_key
    for one in (
        option("--key-id", envvar="GATE_KEY_ID", help="Id of the key. Default: the file's name without suffix."),
        option(flag, "key_file", type=PATH, envvar=variable, help=help_text),
    ):
        decorated = one(decorated)
    return decorated  # type: ignore[no-any-return] # the parameters differ, the command does not


def story_options(bundle: str, *, engine: str = "embedded", bundle_help: str) -> Callable[[Function], Function]:
    """`--bundle` and `--engine` of what is played on a copy of a bundle; `bundle` and `engine` are the defaults."""

    def decorated(function: Function) -> Function:
        played = option(
            "--engine",
            type=click.Choice(["embedded", "opa"]),
            default=engine,
            show_default=True,
            envvar="GATE_ENGINE",
            help="embedded: in this process, not for production. opa: a real sidecar.",
        )(function)
        return option(
            "--bundle",
            type=PATH,
            default=Path(bundle),
            show_default=True,
            envvar="GATE_BUNDLE",
            help=bundle_help,
        )(played)

    return decorated


def minimum_option(function: Function) -> Function:
    """`--min-version BUNDLE_ID=VERSION`, any number of times; handed over as `minimum`."""

    def parsed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for value in values:
            bundle_id, equals, version = value.partition("=")
            if not bundle_id or not equals or not is_version(version) or bundle_id in found:
                raise click.BadParameter("use BUNDLE_ID=VERSION, once for each bundle")
            found[bundle_id] = version
        return found

    return option(
        "--min-version",
        "minimum",
        multiple=True,
        callback=parsed,
        metavar="BUNDLE_ID=VERSION",
        help="Refuse a bundle below this version, whoever signed it.",
    )(function)


def default_person() -> str:
    """The user running the command, for a `--by` that was left out. Raises `UsageError` when nobody can be told."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as exc:
        raise click.UsageError("say who it is with --by") from exc
