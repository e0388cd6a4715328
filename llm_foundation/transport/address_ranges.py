"""Which IP addresses are not public, as data. The first range that holds an address says what it is.

Written out, because what Python calls global changed between patch releases of the same version. From the
IANA special-purpose registries (RFC 6890 and its updates), and the metadata services of the large clouds.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

METADATA: Final = "the metadata service of a cloud"

KINDS: Final[tuple[tuple[IPv4Network | IPv6Network, str], ...]] = tuple(
    (ip_network(network), kind)
    for network, kind in [
        ("169.254.169.254/32", METADATA),  # most clouds
        ("169.254.170.2/32", METADATA),  # AWS ECS
        ("100.100.100.200/32", METADATA),  # Alibaba
        ("168.63.129.16/32", METADATA),  # Azure; in a public range
        ("fd00:ec2::254/128", METADATA),  # AWS
        ("fd20:ce::254/128", METADATA),  # Google
        ("0.0.0.0/8", "an address of this machine itself"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address behind a carrier's NAT"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "an address reserved for protocols"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an address of this machine itself"),
        ("::1/128", "a loopback address"),
        ("::ffff:0:0/96", "an IPv4 address in IPv6 notation"),
        ("::ffff:0:0:0/96", "an IPv4 address in IPv6 notation"),
        ("::/96", "an IPv4 address in IPv6 notation"),
        ("64:ff9b::/96", "an IPv4 address behind NAT64"),
        ("64:ff9b:1::/48", "an IPv4 address behind NAT64"),
        ("2001::/32", "an IPv4 address in a Teredo tunnel"),
        ("2001::/23", "an address reserved for protocols"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "an IPv4 address in a 6to4 tunnel"),
        ("3fff::/20", "an address for documentation"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("ff00::/8", "a multicast address"),
    ]
)
PUBLIC_IPV6: Final = IPv6Network("2000::/3")


def kind_of(address: IPv4Address | IPv6Address) -> str:
    """What keeps an address from being public, as a noun; empty for a public address."""
    for network, kind in KINDS:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return "a reserved address"
    return ""
