//! Whether an address may be asked: a pure function of the URL, the addresses of its name, the settings and where the one
//! that led to it is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::protocol::settings::Web;

use super::patterns::first_match;
use super::space::{Space, space_of};

/// The ports that browsers refuse (the fetch standard's list): other protocols listen there, and could be spoken to by URL.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Names of metadata services, whatever they resolve to.
const NEVER: &[&str] = &["metadata.google.internal"];

/// Why an address is not asked. The words name the URL and the setting, never what a name resolved to.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("'{url}' {}", self.words())]
pub struct Denied {
    /// As [`shown`] has it.
    pub url: String,
    pub why: Why,
}

/// The rule that forbids it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Disabled,
    Scheme,
    Port(u16),
    DenyPattern(String),
    NotAmongAllowed,
    Never,
    Loopback,
    Private,
    /// A name that leads to this machine.
    LocalName,
    /// It is more private than what led to it.
    Inwards {
        from: Space,
    },
}

impl Denied {
    fn words(&self) -> String {
        let text = match &self.why {
            Why::Disabled => "is not asked: web.enabled is false.",
            Why::Scheme => "is no web address: only http and https are followed.",
            Why::Port(port) => {
                return format!(
                    "is not asked: port {port} is not for the web, and no setting allows it."
                );
            }
            Why::DenyPattern(pattern) => {
                return format!("is denied by the pattern '{pattern}' of the setting web.deny.");
            }
            Why::NotAmongAllowed => "is denied: no pattern of the setting web.allow has it.",
            Why::Never => {
                "leads to an address that is never asked (link-local, metadata or reserved); no setting allows that."
            }
            Why::Loopback => "leads to this machine; web.allowLoopback allows that.",
            Why::Private => "leads to a private network; web.allowPrivateNetwork allows that.",
            Why::LocalName => {
                "is a name that leads to this machine; its place in web.localNames would allow that."
            }
            Why::Inwards {
                from: Space::Public,
            } => {
                "is more private than the public page that leads there; nothing allows that. If it is wanted, ask for it by itself."
            }
            Why::Inwards { .. } => {
                "is more private than the page that leads there; nothing allows that. If it is wanted, ask for it by itself."
            }
        };
        text.to_owned()
    }

    /// The rule in a few words.
    pub fn rule(&self) -> String {
        match &self.why {
            Why::Disabled => "web.enabled".to_owned(),
            Why::Scheme => "only http and https".to_owned(),
            Why::Port(port) => format!("port {port}"),
            Why::DenyPattern(pattern) => format!("the pattern '{pattern}' of the setting web.deny"),
            Why::NotAmongAllowed => "web.allow".to_owned(),
            Why::Never => "addresses that are never asked".to_owned(),
            Why::Loopback => "web.allowLoopback".to_owned(),
            Why::Private => "web.allowPrivateNetwork".to_owned(),
            Why::LocalName => "names that lead to this machine".to_owned(),
            Why::Inwards { .. } => "never inwards".to_owned(),
        }
    }

    /// The setting that would allow it.
    pub fn setting(&self) -> Option<&'static str> {
        match self.why {
            Why::Disabled => Some("web.enabled"),
            Why::DenyPattern(_) => Some("web.deny"),
            Why::NotAmongAllowed => Some("web.allow"),
            Why::Loopback => Some("web.allowLoopback"),
            Why::Private => Some("web.allowPrivateNetwork"),
            Why::LocalName => Some("web.localNames"),
            Why::Scheme | Why::Port(_) | Why::Never | Why::Inwards { .. } => None,
        }
    }
}

/// A URL as errors repeat it: without credentials, and not longer than a reader needs.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Neither fails for what has a host, and without one there are none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let text = url.as_str();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a URL leads to, as far as that can be known without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostTarget {
    /// A literal address, or `localhost`.
    Known(Vec<IpAddr>),
    /// A name to be resolved. `is_local`: web.localNames has it.
    Name { name: String, is_local: bool },
}

/// Judges a URL by itself, before its name is resolved.
pub(super) fn target(url: &Url, settings: &Web) -> Result<HostTarget, Denied> {
    let denied = |why| Denied {
        url: shown(url),
        why,
    };
    if !settings.enabled {
        return Err(denied(Why::Disabled));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(denied(Why::Scheme));
    }
    // Both schemes have a host and a default port.
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
        return Err(denied(Why::Scheme));
    };
    if BAD_PORTS.contains(&port) {
        return Err(denied(Why::Port(port)));
    }
    let text = host.to_string();
    let text = text.trim_end_matches('.');
    if let Some(pattern) = first_match(&settings.deny, text, port) {
        return Err(denied(Why::DenyPattern(pattern.to_owned())));
    }
    if !settings.allow.is_empty() && first_match(&settings.allow, text, port).is_none() {
        return Err(denied(Why::NotAmongAllowed));
    }
    match host {
        Host::Ipv4(address) => Ok(HostTarget::Known(vec![address.into()])),
        Host::Ipv6(address) => Ok(HostTarget::Known(vec![address.into()])),
        Host::Domain(_) if NEVER.contains(&text) => Err(denied(Why::Never)),
        Host::Domain(_) if text == "localhost" || text.ends_with(".localhost") => {
            let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            Ok(HostTarget::Known(both.to_vec()))
        }
        Host::Domain(_) => Ok(HostTarget::Name {
            name: text.to_owned(),
            is_local: first_match(&settings.local_names, text, port).is_some(),
        }),
    }
}

/// Judges a URL with the addresses of its name; of a literal address or `localhost` they do not count. The most private
/// space that it leads to, if all of them may be asked. No addresses: a proxy is asked, which resolves the name.
pub fn judge(
    url: &Url,
    addresses: &[IpAddr],
    settings: &Web,
    from: Option<Space>,
) -> Result<Space, Denied> {
    let denied = |why| Denied {
        url: shown(url),
        why,
    };
    let target = target(url, settings)?;
    let (addresses, is_name, is_local) = match &target {
        HostTarget::Known(known) => (known.as_slice(), false, false),
        HostTarget::Name { is_local, .. } => (addresses, true, *is_local),
    };
    // What no setting allows comes first: nobody is to change one in vain.
    let spaces: Option<Vec<Space>> = addresses.iter().copied().map(space_of).collect();
    let spaces = spaces.ok_or_else(|| denied(Why::Never))?;
    if spaces.contains(&Space::Loopback) {
        if !settings.allow_loopback {
            return Err(denied(Why::Loopback));
        }
        if is_name && !is_local {
            return Err(denied(Why::LocalName));
        }
    }
    if spaces.contains(&Space::Private) && !settings.allow_private_network && !is_local {
        return Err(denied(Why::Private));
    }
    let most = spaces.into_iter().max().unwrap_or(Space::Public);
    match from {
        Some(from) if most > from => Err(denied(Why::Inwards { from })),
        _ => Ok(most),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(change: impl FnOnce(&mut Web)) -> Web {
        let mut settings = Web::default();
        change(&mut settings);
        settings
    }

    fn judged(
        url: &str,
        addresses: &[&str],
        settings: &Web,
        from: Option<Space>,
    ) -> Result<Space, Why> {
        let url = Url::parse(url).expect(url);
        let addresses: Vec<IpAddr> = addresses
            .iter()
            .map(|address| address.parse().expect("an address"))
            .collect();
        judge(&url, &addresses, settings, from).map_err(|denied| denied.why)
    }

    #[test]
    fn the_table_of_judgements() {
        let plain = Web::default();
        let none = settings(|web| web.enabled = false);
        let closed = settings(|web| web.allow_loopback = false);
        let private = settings(|web| web.allow_private_network = true);
        let local = settings(|web| web.local_names = vec!["myapp.test".into(), "*.lan".into()]);
        let local_closed = settings(|web| {
            web.local_names = vec!["myapp.test".into()];
            web.allow_loopback = false;
        });
        let deny = settings(|web| {
            web.allow = vec!["*.example.com".into(), "localhost:8443".into()];
            web.deny = vec!["bad.example.com".into()];
        });
        let (public, here) = (Some(Space::Public), Some(Space::Loopback));
        use Space::{Loopback, Private, Public};
        let inwards = |from| Err(Why::Inwards { from });
        type Case<'a> = (
            &'a Web,
            &'a str,
            &'a [&'a str],
            Option<Space>,
            Result<Space, Why>,
        );
        let cases: Vec<Case<'_>> = vec![
            (&plain, "https://h.example/", &["8.8.8.8"], None, Ok(Public)),
            (
                &plain,
                "https://h.example/",
                &["8.8.8.8", "2606:4700::1111"],
                public,
                Ok(Public),
            ),
            (
                &none,
                "https://h.example/",
                &["8.8.8.8"],
                None,
                Err(Why::Disabled),
            ),
            (
                &plain,
                "ftp://h.example/",
                &["8.8.8.8"],
                None,
                Err(Why::Scheme),
            ),
            (&plain, "data:text/plain,x", &[], None, Err(Why::Scheme)),
            (
                &plain,
                "http://h.example:25/",
                &["8.8.8.8"],
                None,
                Err(Why::Port(25)),
            ),
            (
                &plain,
                "https://h.example:6000/",
                &["8.8.8.8"],
                None,
                Err(Why::Port(6000)),
            ),
            (
                &plain,
                "http://h.example:0/",
                &["8.8.8.8"],
                None,
                Err(Why::Port(0)),
            ),
            // This machine.
            (&plain, "http://127.0.0.1:3000/", &[], None, Ok(Loopback)),
            (&plain, "http://localhost:3000/", &[], None, Ok(Loopback)),
            (&plain, "http://LocalHost./", &[], None, Ok(Loopback)),
            (
                &plain,
                "http://a.localhost/",
                &["8.8.8.8"],
                None,
                Ok(Loopback),
            ),
            (&plain, "http://2130706433/", &[], None, Ok(Loopback)),
            (&plain, "http://0x7f.1/", &[], None, Ok(Loopback)),
            (&plain, "http://[::1]/", &[], None, Ok(Loopback)),
            (
                &closed,
                "http://[::ffff:7f00:1]/",
                &[],
                None,
                Err(Why::Loopback),
            ),
            (&closed, "http://localhost./", &[], None, Err(Why::Loopback)),
            (
                &closed,
                "http://017700000001/",
                &[],
                None,
                Err(Why::Loopback),
            ),
            (
                &plain,
                "http://h.example/",
                &["127.0.0.1"],
                None,
                Err(Why::LocalName),
            ),
            (
                &plain,
                "http://h.example/",
                &["8.8.8.8", "::1"],
                None,
                Err(Why::LocalName),
            ),
            (
                &private,
                "http://h.example/",
                &["127.0.0.1"],
                None,
                Err(Why::LocalName),
            ),
            (
                &closed,
                "http://h.example/",
                &["127.0.0.1"],
                None,
                Err(Why::Loopback),
            ),
            (
                &local,
                "http://myapp.test/",
                &["127.0.0.1"],
                None,
                Ok(Loopback),
            ),
            (
                &local,
                "http://myapp.test./",
                &["127.0.0.1"],
                None,
                Ok(Loopback),
            ),
            (
                &local,
                "http://nas.lan/",
                &["192.168.1.7"],
                None,
                Ok(Private),
            ),
            (
                &local,
                "http://nas.other/",
                &["192.168.1.7"],
                None,
                Err(Why::Private),
            ),
            (
                &local,
                "http://nas.lan/",
                &["169.254.169.254"],
                None,
                Err(Why::Never),
            ),
            (
                &local_closed,
                "http://myapp.test/",
                &["127.0.0.1"],
                None,
                Err(Why::Loopback),
            ),
            // The private network.
            (&plain, "http://192.168.1.1/", &[], None, Err(Why::Private)),
            (
                &plain,
                "http://h.example/",
                &["10.0.0.1"],
                None,
                Err(Why::Private),
            ),
            (
                &plain,
                "http://h.example/",
                &["8.8.8.8", "10.0.0.1"],
                None,
                Err(Why::Private),
            ),
            (
                &private,
                "http://h.example/",
                &["8.8.8.8", "10.0.0.1"],
                None,
                Ok(Private),
            ),
            (&private, "http://192.168.1.1/", &[], None, Ok(Private)),
            // Never.
            (
                &private,
                "http://169.254.169.254/latest/",
                &[],
                None,
                Err(Why::Never),
            ),
            (&private, "http://0xa9fea9fe/", &[], None, Err(Why::Never)),
            (&private, "http://0/", &[], None, Err(Why::Never)),
            (&private, "http://[::]/", &[], None, Err(Why::Never)),
            (
                &private,
                "http://h.example/",
                &["8.8.8.8", "169.254.1.1"],
                None,
                Err(Why::Never),
            ),
            (
                &private,
                "http://metadata.google.internal/",
                &["8.8.8.8"],
                None,
                Err(Why::Never),
            ),
            (
                &private,
                "http://Metadata.Google.Internal./",
                &[],
                None,
                Err(Why::Never),
            ),
            // Inwards.
            (
                &plain,
                "http://localhost:3000/",
                &[],
                public,
                inwards(Public),
            ),
            (&private, "http://10.0.0.1/", &[], public, inwards(Public)),
            (
                &private,
                "http://127.0.0.1/",
                &[],
                Some(Private),
                inwards(Private),
            ),
            (
                &private,
                "http://10.0.0.2/",
                &[],
                Some(Private),
                Ok(Private),
            ),
            (
                &local,
                "http://myapp.test/",
                &["127.0.0.1"],
                public,
                inwards(Public),
            ),
            (&plain, "http://localhost:3000/", &[], here, Ok(Loopback)),
            (&plain, "https://h.example/", &["8.8.8.8"], here, Ok(Public)),
            // Patterns.
            (
                &deny,
                "https://a.example.com/",
                &["8.8.8.8"],
                None,
                Ok(Public),
            ),
            (
                &deny,
                "https://example.com/",
                &["8.8.8.8"],
                None,
                Err(Why::NotAmongAllowed),
            ),
            (&deny, "https://localhost:8443/", &[], None, Ok(Loopback)),
            (
                &deny,
                "https://localhost:8444/",
                &[],
                None,
                Err(Why::NotAmongAllowed),
            ),
            (
                &deny,
                "https://BAD.example.com./",
                &[],
                None,
                Err(Why::DenyPattern("bad.example.com".into())),
            ),
            // A proxy resolves the name.
            (&plain, "https://h.example/", &[], None, Ok(Public)),
        ];
        for (settings, url, addresses, from, expected) in cases {
            let judged = judged(url, addresses, settings, from);
            assert_eq!(judged, expected, "{url} {addresses:?} from {from:?}");
        }
    }

    #[test]
    fn words_name_the_url_and_the_setting() {
        let url = Url::parse("http://user:secret@intra.test/").expect("a URL");
        let address: IpAddr = "10.1.2.3".parse().expect("an address");
        let denied = judge(&url, &[address], &Web::default(), None).expect_err("private");
        assert_eq!(
            denied.to_string(),
            "'http://intra.test/' leads to a private network; web.allowPrivateNetwork allows that."
        );
        assert_eq!(denied.setting(), Some("web.allowPrivateNetwork"));
    }

    proptest! {
        /// However an IPv4 address is spelled in a URL, it is judged as that address.
        #[test]
        fn spellings_of_an_address_are_judged_alike(bits in any::<u32>(), form in 0..6) {
            let address = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = address.octets();
            let host = match form {
                0 => format!("{bits}"),
                1 => format!("0x{bits:x}"),
                2 => format!("0{bits:o}"),
                3 => format!("{a}.0x{b:x}.{}", u32::from(c) << 8 | u32::from(d)),
                4 => format!("0{a:o}.{b}.{c}.{d}."),
                _ => format!("[::ffff:{a}.{b}.{c}.{d}]"),
            };
            let settings = Web { allow_private_network: true, ..Web::default() };
            let by_host = judged(&format!("http://{host}/"), &[], &settings, None);
            let expected = space_of(address.into()).ok_or(Why::Never);
            prop_assert_eq!(by_host, expected, "{}", host);
        }
    }
}
