"""A certificate authority for tests: certificates for any name, trusted only where a test says so."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from llm_foundation.transport import pools


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        is_authority = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = self.builder("Test authority", self.key).add_extension(is_authority, critical=True)
        self.certificate = builder.add_extension(usage, critical=True).sign(self.key, hashes.SHA256())
        self.names_asked_for: list[str | None] = []

    def builder(self, subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        public = key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("Test authority"))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )

    def server(self, host: str) -> ssl.SSLContext:
        """What a server at this name uses. ``names_asked_for`` collects the names that clients ask it for."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self.builder(host, key).add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), False)
        pem = serialization.Encoding.PEM
        chain = builder.sign(self.key, hashes.SHA256()).public_bytes(pem)
        chain += key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            (file := Path(folder) / "server.pem").write_bytes(chain)
            context.load_cert_chain(file)
        context.sni_callback = lambda connection, asked, context: self.names_asked_for.append(asked)
        return context

    @contextmanager
    def trusted(self) -> Iterator[None]:
        trusting = pools.Pools()
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        trusting.shared_ssl_context().load_verify_locations(cadata=pem)
        pools.stack.append(trusting)
        try:
            yield
        finally:
            pools.stack.remove(trusting)
            trusting.close()
