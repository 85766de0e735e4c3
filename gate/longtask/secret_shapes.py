"""Whether a text holds something in the shape of a well-known secret, whatever its label says.

Pure. It finds keys and tokens whose form their issuers publish; one without such a form is found by its label only.
Names the shape and never the secret.
"""

from __future__ import annotations

import re

# The text may be an attacker's: every pattern starts at a border and repeats a bounded number of times, so that the
# time grows with the text and not with its square. (detect-secrets 1.5.0 was tried: 45 s over 90 KB of `sk-sk-sk-…`.)
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "authorization_header",
        re.compile(
            r"(?<!\w)authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|bearer|token)\s{1,4}[^\s\"']{8}", re.IGNORECASE
        ),
    ),
    ("aws_access_key", re.compile(r"(?<![A-Z0-9])(?:ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])")),
    ("azure_storage_key", re.compile(r"(?<!\w)AccountKey=[A-Za-z0-9+/]{40}")),
    ("github_token", re.compile(r"(?<!\w)(?:gh[oprsu]_[A-Za-z0-9]{36}|github_pat_\w{50})")),
    ("gitlab_token", re.compile(r"(?<![\w-])glpat-[\w-]{20}")),
    ("google_api_key", re.compile(r"(?<![\w-])AIza[\w-]{35}(?![\w-])")),
    ("json_web_token", re.compile(r"(?<![\w-])eyJ[\w-]{8,2048}\.eyJ[\w-]{8}")),
    ("model_provider_key", re.compile(r"(?<![\w-])sk-(?:[a-z]{2,10}-)?(?=[\w-]{0,40}\d)[\w-]{24}")),
    ("npm_token", re.compile(r"(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)")),
    ("private_key", re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")),
    ("pypi_token", re.compile(r"(?<![\w-])pypi-[\w-]{50}")),
    ("sendgrid_key", re.compile(r"(?<![\w.])SG\.[\w-]{16,64}\.[\w-]{16}")),
    ("slack_token", re.compile(r"(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10}")),
    ("stripe_key", re.compile(r"(?<!\w)[rs]k_(?:live|test)_[A-Za-z0-9]{16}")),
    ("telegram_token", re.compile(r"(?<![\w:])\d{8,10}:[\w-]{35}(?![\w-])")),
    (
        "url_credentials",
        re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,15}://[^\s/:@]{0,64}:[^\s/@]{3,128}@", re.IGNORECASE),
    ),
)


def shapes(text: str) -> tuple[str, ...]:
    """Names of the shapes found in the text, sorted; empty when there is none."""
    return tuple(name for name, pattern in _SHAPES if pattern.search(text))
