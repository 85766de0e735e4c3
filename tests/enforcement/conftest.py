from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from enforcement_support import World, bundle_copy, open_world, point_of
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle
from gate.pdp import DecisionPoint, EmbeddedDecisionPoint, Sidecar
from gate.release import build


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a variant of the bundle, made once."""
    made: dict[str, Path] = {}

    def bundle(variant: str) -> Path:
        if variant not in made:
            made[variant] = bundle_copy(variant, tmp_path_factory.mktemp(f"bundle-{variant}"))
        return made[variant]

    return bundle


@pytest.fixture(scope="session")
def points_of(bundles: Callable[[str], Path]) -> Callable[[str], OpaPoint]:
    """The decision point of a variant, made once; tests must not close it."""
    made: dict[str, OpaPoint] = {}

    def point(variant: str) -> OpaPoint:
        if variant not in made:
            made[variant] = point_of(compile_bundle(bundles(variant)))
        return made[variant]

    return point


@pytest.fixture(scope="session")
def start_sidecar(
    bundles: Callable[[str], Path], opa_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Sidecar]]:
    """Starts OPA on a variant of the bundle; all are stopped at the end."""
    started: list[Sidecar] = []

    def start(variant: str) -> Sidecar:
        folder = tmp_path_factory.mktemp("opa")
        built = build([compile_bundle(bundles(variant))], folder / "dist", binary=opa_binary, trial=True)
        started.append(
            Sidecar.start(
                tarball=built.path, opa=opa_binary, listen=folder / "run" / "s.sock", work_dir=folder / "work"
            )
        )
        return started[-1]

    yield start
    for sidecar in started:
        sidecar.stop()


@pytest.fixture(scope="session")
def sidecar(start_sidecar: Callable[[str], Sidecar]) -> Sidecar:
    """OPA on the plain bundle, shared; tests must not stop it."""
    return start_sidecar("plain")


@pytest.fixture
def make_world(points_of: Callable[[str], OpaPoint], tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Worlds, each with a store of its own: `make_world("quorum2")`, or `make_world(point=…, clock_ms=…, trace=…)`."""
    made: list[World] = []

    def make(variant: str = "plain", *, point: DecisionPoint | None = None, **options: object) -> World:
        folder = tmp_path / f"world-{len(made)}"
        folder.mkdir()
        made.append(open_world(point or points_of(variant), folder, **options))
        return made[-1]

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world on the plain bundle."""
    return make_world()


@pytest.fixture(scope="session")
def embedded_point(bundles: Callable[[str], Path]) -> EmbeddedDecisionPoint:
    """The embedded engine on the plain bundle."""
    assembly = assemble([compile_bundle(bundles("plain"))])
    return EmbeddedDecisionPoint(assembly.modules, revision=assembly.revision)


@pytest.fixture(params=["embedded", pytest.param("opa", marks=pytest.mark.opa)])
def any_world(request: pytest.FixtureRequest, make_world: Callable[..., World]) -> Iterator[World]:
    """A world on the embedded engine, and one on a sidecar."""
    if request.param == "embedded":
        yield make_world(point=request.getfixturevalue("embedded_point"))
        return
    client = request.getfixturevalue("sidecar").client(timeout_ms=10_000)
    yield make_world(point=client)
    client.close()
