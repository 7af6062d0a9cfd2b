"""A certificate for `localhost` with its key, and a key that belongs to another: made for the tests, good for a hundred years.

They are kept as text because nothing that makes certificates has to be there where the tests run.
"""

from dataclasses import dataclass
from pathlib import Path

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUSvoLZzRcYsPX0DjnF6W6cdqm3VgwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExODE5MjExMFoYDzIxMjYxMDI1
MTkyMTEwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASwPYoKDGXwp4Aw9eU8cj/VyyFmvInyQMgG8Mth+WM8PAnDUc0+YreH
KJ0e84brdOp49Hppn4jqmO0UoSI+Mx5Qo28wbTAdBgNVHQ4EFgQUUlO9+ioO87fl
ijRz86fVt7DediQwHwYDVR0jBBgwFoAUUlO9+ioO87flijRz86fVt7DediQwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgbBVksyjEcIvwu9gsB0H1k9rKGPG0neLiVT47LC1+lWICIBfU
YrHvBBKjbAUgDNoyYOWt7JfkQbFQt9qJNRt7YkKH
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfPI1kiBi2uDBFM9w
Ub09C/td2hb2BsMx88VU5NCkhCOhRANCAASwPYoKDGXwp4Aw9eU8cj/VyyFmvIny
QMgG8Mth+WM8PAnDUc0+YreHKJ0e84brdOp49Hppn4jqmO0UoSI+Mx5Q
-----END PRIVATE KEY-----
"""
KEY_OF_ANOTHER = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdQsoP7Fy1nZwqH4z
GN4mjEZ3TWFffEG+zRLpOp6WxfmhRANCAAQegpcaokzz8yPv76KF0K999qPIRU1n
ZI+jnVjCFb/uo+khp7Fa81UeYX1OihoOm1HHQZTemAp/opZrm9mBvoJ4
-----END PRIVATE KEY-----
"""


@dataclass(frozen=True)
class Pair:
    """Where they lie."""

    certificate: Path
    key: Path


def write_pair(where: Path, key: str = KEY) -> Pair:
    pair = Pair(where / "server.crt", where / "server.key")
    pair.certificate.write_text(CERTIFICATE)
    pair.key.write_text(key)
    return pair
