from __future__ import annotations

import pytest
from longtask_support import artifact, event, item, seed, trajectory

from gate.longtask import drift
from gate.longtask.secret_shapes import _SHAPES, shapes
from gate.longtask.strategies import structured_artifact
from gate.longtask.vocabulary import Sensitivity

# Put together here, so that no file of the repository holds anything in the shape of a secret.
PLANTED = {
    "authorization_header": "Authorization: " + "Bearer " + "abcdefgh",
    "aws_access_key": "AKIA" + "ABCDEFGH12345678",
    "azure_storage_key": "AccountKey=" + "a1B2" * 11,
    "github_token": "ghp_" + "a1" * 18,
    "gitlab_token": "glpat-" + "a1-_" * 5,
    "google_api_key": "AIza" + "a1-_b" * 7,
    "json_web_token": "eyJ" + "hbGciOiJI" + "." + "eyJ" + "zdWIiOiIx" + ".x",
    "model_provider_key": "sk-" + "ant-" + "a1b2c3d4" * 4,
    "npm_token": "npm_" + "a1" * 18,
    "private_key": "-----BEGIN " + "EC PRIVATE KEY-----",
    "pypi_token": "pypi-" + "a1-_b" * 10,
    "sendgrid_key": "SG." + "a1-_" * 5 + "." + "b2-_" * 5,
    "slack_token": "xoxb-" + "12345-abcde",
    "stripe_key": "sk_live_" + "a1" * 8,
    "telegram_token": "123456789" + ":" + "a1-_b" * 7,
    "url_credentials": "postgres://" + "user:pw1" + "@db/x",
}


def test_every_shape_is_planted() -> None:
    assert sorted(PLANTED) == [name for name, _ in _SHAPES]


@pytest.mark.parametrize("name", sorted(PLANTED))
@pytest.mark.parametrize("around", ["{}", "the key is {} since May", "k={};", '{{"key": "{}"}}', "\n{}\n"])
def test_shape_is_found_in_any_surroundings(name: str, around: str) -> None:
    assert name in shapes(around.format(PLANTED[name]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the password is secret",
        "sha256:" + "0123456789abcdef" * 4,
        "cmp-7a99a1f0ba7efc98",
        "https://example.org/a:b@c",
        "http://[::1]:8080/path",
        "mailto:someone@example.org",
        "see src/config.py#L7-L26 at 12:30:45",
        "task-sk-learn-pipeline-of-the-second-quarter",
        "sk-learn-pipeline-of-the-second-quarter",
        "MAKIAABCDEFGH12345678",
        "authorization: bearer",
        "-----BEGIN PUBLIC KEY-----",
        "eyJust a word.eyJ",
    ],
)
def test_prose_digests_and_places_are_no_secrets(text: str) -> None:
    assert shapes(text) == ()


@pytest.mark.parametrize(
    "part",
    [
        "sk-",
        "eyJ",
        "eyJ.",
        "://a:",
        "a://",
        "a://b:",
        "AccountKey=",
        "SG.",
        "123456789:",
        "AKIA",
        "npm_",
        "-----BEGIN A ",
    ],
)
def test_hostile_text_of_a_megabyte_is_looked_through_to_its_end(part: str) -> None:
    # Quadratic patterns would not come back within the time a test has.
    hostile = part * (1_000_000 // len(part))
    assert shapes(f"{hostile} {PLANTED['slack_token']}") == ("slack_token",)


def test_unlabelled_secret_is_treated_as_one_everywhere() -> None:
    leaked = item("note", content=PLANTED["aws_access_key"])
    assert leaked.sensitivity is Sensitivity.INTERNAL
    assert leaked.secret
    assert not item("note").secret
    assert item("note", sensitivity=Sensitivity.SECRET).secret


def test_drift_of_a_secret_names_no_digest_of_it() -> None:
    events = (*trajectory(), event(6, item("plan", content=PLANTED["slack_token"], source_event_ids=("e6",))))
    found = drift.from_log(artifact(), trajectory(), seed())
    assert found == ()
    changed = [one for one in drift.between(artifact(), structured_artifact(events, seed()), since=()) if one.before]
    assert [one.after for one in changed if one.code == "content_digest_changed"] == ["redacted"]
