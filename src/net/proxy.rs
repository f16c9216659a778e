//! Which proxy is asked for a URL: that of the environment, of the setting web.proxy, or none.

use std::net::IpAddr;

use url::{Host, Url};

use crate::protocol::settings::Proxy;

use super::error::NetError;

/// What the environment says of proxies, as curl reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Environment {
    http: Option<String>,
    https: Option<String>,
    all: Option<String>,
    /// Hosts that are asked without one, by commas.
    none: Option<String>,
}

impl Environment {
    pub(super) fn read() -> Environment {
        let any = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
            values.find(|value| !value.is_empty())
        };
        Environment {
            // In capitals it is a request's header to a CGI program.
            http: any(&["http_proxy"]),
            https: any(&["https_proxy", "HTTPS_PROXY"]),
            all: any(&["all_proxy", "ALL_PROXY"]),
            none: any(&["no_proxy", "NO_PROXY"]),
        }
    }

    /// The proxy for a URL that leads to no loopback address. Errors where it is named and is none.
    pub(super) fn proxy_for(&self, url: &Url, setting: &Proxy) -> Result<Option<Url>, NetError> {
        match setting {
            Proxy::None => Ok(None),
            Proxy::Url(proxy) => usable(proxy, "The setting web.proxy").map(Some),
            Proxy::System => {
                let of_scheme = match url.scheme() {
                    "https" => (&self.https, "https_proxy"),
                    _ => (&self.http, "http_proxy"),
                };
                let named = [of_scheme, (&self.all, "all_proxy")];
                let named = named
                    .into_iter()
                    .find_map(|(value, name)| Some((value.as_ref()?, name)));
                match named {
                    Some((text, name)) if !self.is_excepted(url) => {
                        let place = format!("{name} in the environment");
                        usable(&parsed(text, &place)?, &place).map(Some)
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// Whether `no_proxy` has the URL's host.
    fn is_excepted(&self, url: &Url) -> bool {
        let (Some(host), Some(list)) = (url.host(), &self.none) else {
            return false;
        };
        let port = url.port_or_known_default();
        let mut entries = list.split([',', ' ']).map(str::trim);
        entries.any(|entry| !entry.is_empty() && excepts(entry, &host, port))
    }
}

/// Whether an entry of `no_proxy` has a host: `*`, a name with all its subdomains, an address, a range of them.
fn excepts(entry: &str, host: &Host<&str>, port: Option<u16>) -> bool {
    if entry == "*" {
        return true;
    }
    let (entry, wanted) = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            match digits.parse() {
                Ok(wanted) => (name, Some(wanted)),
                Err(_) => (entry, None),
            }
        }
        _ => (entry, None),
    };
    if wanted.is_some() && wanted != port {
        return false;
    }
    let address: IpAddr = match host {
        Host::Ipv4(address) => (*address).into(),
        Host::Ipv6(address) => (*address).into(),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let entry = entry
                .trim_start_matches("*.")
                .trim_matches('.')
                .to_lowercase();
            let below = name.strip_suffix(entry.as_str());
            return !entry.is_empty()
                && below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        }
    };
    let entry = entry.trim_start_matches('[').trim_end_matches(']');
    let (first, fixed) = match entry.split_once('/') {
        Some((first, fixed)) => (first, fixed.parse().ok()),
        None => (entry, Some(128)),
    };
    match (first.parse::<IpAddr>(), address, fixed) {
        (Ok(IpAddr::V4(first)), IpAddr::V4(address), Some(fixed)) => {
            (first.to_bits() ^ address.to_bits()).leading_zeros() >= u32::min(fixed, 32)
        }
        (Ok(IpAddr::V6(first)), IpAddr::V6(address), Some(fixed)) => {
            (first.to_bits() ^ address.to_bits()).leading_zeros() >= fixed
        }
        _ => false,
    }
}

/// A proxy as the environment names it, which may be without a scheme.
fn parsed(text: &str, place: &str) -> Result<Url, NetError> {
    let with_scheme = match text.contains("://") {
        true => text.to_owned(),
        false => format!("http://{text}"),
    };
    // The text is not repeated: it may hold a password.
    Url::parse(&with_scheme).map_err(|_| NetError::Setting {
        message: format!("{place} names a proxy that is no URL."),
    })
}

fn usable(proxy: &Url, place: &str) -> Result<Url, NetError> {
    match proxy.scheme() {
        "http" | "https" if proxy.has_host() => Ok(proxy.clone()),
        scheme => Err(NetError::Setting {
            message: format!(
                "{place} names a proxy of the kind {scheme}; only http and https proxies can be asked."
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(none: &str) -> Environment {
        Environment {
            http: Some("proxy.test:3128".to_owned()),
            https: Some("https://user:secret@secure.test".to_owned()),
            all: Some("http://all.test:1".to_owned()),
            none: Some(none.to_owned()),
        }
    }

    fn asked(environment: &Environment, url: &str, setting: &Proxy) -> Option<String> {
        let url = Url::parse(url).expect(url);
        let proxy = environment
            .proxy_for(&url, setting)
            .expect("a proxy or none");
        proxy.map(String::from)
    }

    #[test]
    fn the_proxy_goes_by_scheme_and_setting() {
        let here = environment("");
        let system = |url| asked(&here, url, &Proxy::System);
        assert_eq!(
            system("http://h.example/").as_deref(),
            Some("http://proxy.test:3128/")
        );
        assert_eq!(
            system("https://h.example/").as_deref(),
            Some("https://user:secret@secure.test/")
        );
        assert_eq!(asked(&here, "http://h.example/", &Proxy::None), None);
        let set = Proxy::try_from("http://set.test:8080".to_owned()).expect("a proxy");
        assert_eq!(
            asked(&here, "https://h.example/", &set).as_deref(),
            Some("http://set.test:8080/")
        );
        let only_all = Environment {
            http: None,
            https: None,
            ..here
        };
        let of_all = asked(&only_all, "https://h.example/", &Proxy::System);
        assert_eq!(of_all.as_deref(), Some("http://all.test:1/"));
        assert_eq!(
            asked(&Environment::default(), "http://h.example/", &Proxy::System),
            None
        );
    }

    #[test]
    fn what_is_excepted_is_asked_without() {
        let cases = [
            ("*", "http://h.example/", true),
            ("example.com", "http://example.com/", true),
            ("example.com", "http://a.b.example.com/", true),
            (".example.com", "http://a.example.com/", true),
            ("*.example.com", "http://a.example.com/", true),
            ("example.com", "http://badexample.com/", false),
            ("other, example.com ,x", "http://Example.com./", true),
            ("example.com:8080", "http://example.com:8080/", true),
            ("example.com:8080", "http://example.com/", false),
            ("10.0.0.0/8", "http://10.1.2.3/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("10.1.2.3", "http://10.1.2.3/", true),
            ("10.1.2.3:80", "http://10.1.2.3/", true),
            ("10.1.2.3", "http://10.1.2.4/", false),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("[2606:4700::1]:443", "https://[2606:4700::1]/", true),
            ("::1", "http://[::2]/", false),
            ("", "http://h.example/", false),
            ("10.0.0.0/many", "http://10.0.0.0/", false),
        ];
        for (none, url, expected) in cases {
            let found = asked(&environment(none), url, &Proxy::System);
            assert_eq!(found.is_none(), expected, "{none} and {url}");
        }
    }

    #[test]
    fn a_proxy_that_is_none_is_told_without_its_words() {
        let url = Url::parse("http://h.example/").expect("a URL");
        for (text, words) in [
            ("socks5://u:secret@h:1", "socks5"),
            ("http://u:secret@:x", "no URL"),
        ] {
            let here = Environment {
                http: Some(text.to_owned()),
                ..Environment::default()
            };
            let told = here
                .proxy_for(&url, &Proxy::System)
                .expect_err("no proxy")
                .to_string();
            assert!(
                told.contains(words) && told.contains("http_proxy") && !told.contains("secret"),
                "{told}"
            );
        }
    }
}
