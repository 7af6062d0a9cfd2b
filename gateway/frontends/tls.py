"""TLS context of all front ends: read before anything starts, so that a bad certificate is one clear message."""

import ssl
from typing import Final

from gateway.config import Settings
from gateway.errors import Code, OperatorError

POSTGRESQL: Final = "postgresql"  # the name by which PostgreSQL's protocol is asked for inside TLS


def tls_context(settings: Settings, *protocols: str) -> ssl.SSLContext | None:
    """The context of a front end, or None if there is no certificate.

    `protocols` are the ALPN names inside TLS. The key's password is never asked for on the terminal.
    """
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=lambda: b"")
    except OSError as error:  # an SSLError is also an OSError
        raise OperatorError(
            Code.SETTING_INVALID,
            f"GATEWAY_TLS_CERT `{settings.tls_cert}` and GATEWAY_TLS_KEY `{settings.tls_key}`"
            f" cannot be used: {error.strerror or error}",
            "both must be PEM files of one key pair, and the key must have no password",
        ) from None
    # a renegotiation costs the server more than the client
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
