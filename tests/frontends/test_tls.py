"""The certificate: one for all front ends, read at the start, and a bad one is one clear line."""

import ssl
from pathlib import Path

import pytest
from frontends.certificates import KEY_OF_ANOTHER, write_pair

from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.frontends.tls import POSTGRESQL, tls_context


def settings_of(home: Path, **options: object) -> Settings:
    return Settings(home=home, **options)  # type: ignore[arg-type]  # pydantic checks them


def test_there_is_no_tls_without_a_certificate(tmp_path: Path) -> None:
    """Who gives none gets none."""
    assert tls_context(settings_of(tmp_path)) is None


def test_pair_that_fits_is_used(tmp_path: Path) -> None:
    """TLS 1.2 is the oldest that is spoken."""
    pair = write_pair(tmp_path)
    settings = settings_of(tmp_path, tls_cert=pair.certificate, tls_key=pair.key)
    context = tls_context(settings, POSTGRESQL)
    assert context is not None
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize(
    "what", ["another's key", "no key", "no file", "a directory", "a password"]
)
def test_pair_that_cannot_be_used_is_said_at_the_start(tmp_path: Path, what: str) -> None:
    """Both files and why are named; nobody is asked for a password."""
    pair = write_pair(tmp_path)
    if what == "another's key":
        pair.key.write_text(KEY_OF_ANOTHER)
    elif what == "no key":
        pair.key.write_text("this is no key")
    elif what == "a password":
        pair.key.write_text(
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
        )
    else:
        pair.key.unlink()
        if what == "a directory":
            pair.key.mkdir()
    settings = settings_of(tmp_path, tls_cert=pair.certificate, tls_key=pair.key)
    with pytest.raises(OperatorError) as refused:
        tls_context(settings, POSTGRESQL)
    assert refused.value.code is Code.SETTING_INVALID
    assert str(pair.certificate) in refused.value.detail
    assert str(pair.key) in refused.value.detail
    assert "\n" not in str(refused.value)
