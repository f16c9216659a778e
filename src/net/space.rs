//! Where an address is: on this machine, in the private network, in the public one, or where nobody is ever asked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The spaces that may be asked, from the least to the most private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    Public,
    Private,
    Loopback,
}

impl Space {
    /// An address there, which stands for all of them.
    pub fn example(self) -> IpAddr {
        let octets = match self {
            Space::Public => [8, 8, 8, 8],
            Space::Private => [10, 0, 0, 1],
            Space::Loopback => [127, 0, 0, 1],
        };
        IpAddr::from(octets)
    }
}

/// A range of IPv4 addresses: its first address and how many bits of it are fixed.
type V4Range = ([u8; 4], u32);

/// A range of IPv6 addresses.
type V6Range = ([u16; 8], u32);

/// Link-local with the metadata services, a cloud's metadata, "this" network, protocol assignments, documentation,
/// benchmarks, multicast, reserved with broadcast.
const V4_NEVER: &[V4Range] = &[
    ([169, 254, 0, 0], 16),
    ([100, 100, 100, 200], 32),
    ([0, 0, 0, 0], 8),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([198, 18, 0, 0], 15),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

const V4_PRIVATE: &[V4Range] = &[
    ([10, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    ([100, 64, 0, 0], 10),
];

/// Link-local, a cloud's metadata, the unspecified address, multicast, documentation (two), benchmarks.
const V6_NEVER: &[V6Range] = &[
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
    ([0, 0, 0, 0, 0, 0, 0, 0], 128),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    ([0x2001, 2, 0, 0, 0, 0, 0, 0], 48),
];

/// Unique local, site-local, and a translator's own prefix: what it leads to is the network's secret.
const V6_PRIVATE: &[V6Range] = &[
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
];

/// The space of an address; `None` where nobody is ever asked.
pub(super) fn space_of(address: IpAddr) -> Option<Space> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Option<Space> {
    let within = |(first, fixed): &V4Range| {
        let difference = address.to_bits() ^ Ipv4Addr::from(*first).to_bits();
        difference.leading_zeros() >= *fixed
    };
    if V4_NEVER.iter().any(within) {
        None
    } else if address.is_loopback() {
        Some(Space::Loopback)
    } else if V4_PRIVATE.iter().any(within) {
        Some(Space::Private)
    } else {
        Some(Space::Public)
    }
}

fn v6(address: Ipv6Addr) -> Option<Space> {
    let within = |(first, fixed): &V6Range| {
        let difference = address.to_bits() ^ Ipv6Addr::from(*first).to_bits();
        difference.leading_zeros() >= *fixed
    };
    if V6_NEVER.iter().any(within) {
        None
    } else if address.is_loopback() {
        Some(Space::Loopback)
    } else {
        let own = match V6_PRIVATE.iter().any(within) {
            true => Space::Private,
            false => Space::Public,
        };
        let embedded = embedded(address).into_iter().flatten();
        // `None` for all where one of them is never asked.
        embedded
            .map(v4)
            .try_fold(own, |most, space| Some(most.max(space?)))
    }
}

/// The IPv4 addresses that packets to an IPv6 address are meant for, or sent to on their way.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let parts = address.segments();
    let v4 =
        |high: u16, low: u16| Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    let last = v4(parts[6], parts[7]);
    match parts {
        // Compatible, mapped, and translated.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => [last, None],
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [last, None],
        // 6to4.
        [0x2002, high, low, ..] => [v4(high, low), None],
        // Teredo: its server, and the client behind a mask.
        [0x2001, 0, high, low, ..] => [v4(high, low), v4(!parts[6], !parts[7])],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_of_spaces() {
        use Space::{Loopback, Private, Public};
        let table: &[(Option<Space>, &[&str])] = &[
            (
                None,
                &[
                    "169.254.169.254",
                    "169.254.0.1",
                    "100.100.100.200",
                    "0.0.0.0",
                    "0.1.2.3",
                    "192.0.0.1",
                    "192.0.0.170",
                    "240.0.0.1",
                    "255.255.255.255",
                    "224.0.0.1",
                    "239.1.1.1",
                    "192.0.2.7",
                    "198.51.100.7",
                    "203.0.113.7",
                    "198.18.0.1",
                    "198.19.255.255",
                    "fe80::1",
                    "febf::1",
                    "fd00:ec2::254",
                    "::",
                    "ff02::1",
                    "2001:db8::1",
                    "3fff::1",
                    "2001:2::1",
                    "::ffff:169.254.169.254",
                    "::169.254.169.254",
                    "64:ff9b::a9fe:a9fe",
                    "2002:a9fe:a9fe::1",
                    "2001:0:a9fe:a9fe::1",
                    "2001:0:808:808:0:0:5601:5601",
                    "::2",
                    "::ffff:0:169.254.169.254",
                ],
            ),
            (
                Some(Loopback),
                &[
                    "127.0.0.1",
                    "127.255.255.254",
                    "::1",
                    "::ffff:127.0.0.1",
                    "::127.0.0.1",
                    "64:ff9b::7f00:1",
                    "2002:7f00:1::",
                    "2001:0:7f00:1::f7f7:f7f7",
                    "2001:0:808:808:0:0:80ff:fffe",
                ],
            ),
            (
                Some(Private),
                &[
                    "10.0.0.1",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.1.1",
                    "100.64.0.1",
                    "100.127.255.255",
                    "fc00::1",
                    "fd12::1",
                    "fec0::1",
                    "::ffff:10.0.0.1",
                    "64:ff9b::a00:1",
                    "2002:a00:1::",
                    "64:ff9b:1::808:808",
                ],
            ),
            (
                Some(Public),
                &[
                    "8.8.8.8",
                    "172.15.255.255",
                    "172.32.0.1",
                    "100.63.255.255",
                    "100.128.0.1",
                    "192.0.1.1",
                    "192.1.0.1",
                    "169.253.255.255",
                    "126.255.255.255",
                    "128.0.0.1",
                    "223.255.255.255",
                    "2606:4700::1111",
                    "2001:db9::1",
                    "64:ff9b::808:808",
                    "2002:808:808::1",
                    "2001:0:808:808::f7f7:f7f7",
                    "::ffff:8.8.8.8",
                ],
            ),
        ];
        for (space, addresses) in table {
            for address in *addresses {
                let parsed: IpAddr = address.parse().expect(address);
                assert_eq!(space_of(parsed), *space, "{address}");
            }
        }
    }

    /// An address as every IPv6 form that holds it.
    fn embeddings(inner: Ipv4Addr) -> Vec<Ipv6Addr> {
        let bits = inner.to_bits();
        let (high, low) = ((bits >> 16) as u16, bits as u16);
        vec![
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0x1234, 5, 6, 7, 8),
            Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0xf7f7, 0xf7f7),
            Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
        ]
    }

    proptest! {
        #[test]
        fn an_address_is_judged_alike_in_every_embedding(
            range in 0..V4_NEVER.len() + V4_PRIVATE.len() + 2,
            chance in any::<u32>(),
        ) {
            let mut ranges = [V4_NEVER, V4_PRIVATE].concat();
            ranges.extend([([127, 0, 0, 0], 8), ([0, 0, 0, 0], 0)]);
            let (first, fixed) = ranges[range];
            let free = u32::MAX.checked_shr(fixed).unwrap_or(0);
            let inner = Ipv4Addr::from_bits(Ipv4Addr::from(first).to_bits() | chance & free);
            let space = v4(inner);
            if range < V4_NEVER.len() {
                prop_assert_eq!(space, None);
            }
            for outer in embeddings(inner) {
                // `::` and `::1` are themselves.
                let expected = match outer {
                    Ipv6Addr::LOCALHOST => Some(Space::Loopback),
                    _ => space,
                };
                prop_assert_eq!(space_of(outer.into()), expected, "{} in {}", inner, outer);
            }
        }
    }
}
