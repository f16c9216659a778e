//! Patterns of hosts, as `web.allow`, `web.deny` and `web.localNames` have them: `docs.rs`, `*.example.com`, `localhost:8443`.

use url::Host;

/// A pattern, taken apart.
#[derive(Debug, PartialEq)]
struct HostPattern {
    /// As a URL has it: in ASCII and small letters, addresses in their usual form.
    host: String,
    /// The host's subdomains, and not itself.
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// What is no host is taken as it is, and so matches nothing.
    fn of(text: &str) -> HostPattern {
        let text = text.trim();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port))
                if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) =>
            {
                match port.parse() {
                    Ok(port) => (host, Some(port)),
                    Err(_) => (text, None),
                }
            }
            _ => (text, None),
        };
        let (host, below) = match host.strip_prefix("*.") {
            Some(host) => (host, true),
            None => (host, false),
        };
        // An IPv6 address may stand without its brackets.
        let parsed = Host::parse(host).or_else(|_| Host::parse(&format!("[{host}]")));
        let host = parsed.map_or_else(|_| host.to_owned(), |host| host.to_string());
        HostPattern {
            host: host.trim_end_matches('.').to_owned(),
            below,
            port,
        }
    }

    fn matches(&self, host: &str, port: u16) -> bool {
        let fits = match self.below {
            _ if self.host == "*" => true,
            false => host == self.host,
            true => host
                .strip_suffix(&self.host)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        };
        fits && self.port.is_none_or(|wanted| wanted == port)
    }
}

/// The first of the patterns that a host and port match. `host` is as a URL has it, without a final dot.
pub(super) fn first_match<'a>(patterns: &'a [String], host: &str, port: u16) -> Option<&'a str> {
    let matching = |pattern: &&String| HostPattern::of(pattern).matches(host, port);
    patterns.iter().find(matching).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_hosts_subdomains_and_ports() {
        let cases = [
            ("docs.rs", "docs.rs", 443, true),
            ("Docs.RS.", "docs.rs", 443, true),
            ("docs.rs", "www.docs.rs", 443, false),
            ("docs.rs", "notdocs.rs", 443, false),
            ("*.example.com", "a.example.com", 80, true),
            ("*.example.com", "a.b.example.com", 80, true),
            ("*.example.com", "example.com", 80, false),
            ("*.example.com", "badexample.com", 80, false),
            ("*.example.com:8443", "a.example.com", 8443, true),
            ("*.example.com:8443", "a.example.com", 443, false),
            ("h:8443", "h", 8443, true),
            ("h:8443", "h", 80, false),
            ("bücher.example", "xn--bcher-kva.example", 80, true),
            ("2130706433", "127.0.0.1", 80, true),
            ("[::1]:80", "[::1]", 80, true),
            ("[::1]:80", "[::1]", 81, false),
            ("::1", "[::1]", 81, true),
            ("*", "anything", 1, true),
            ("*:443", "anything", 443, true),
            ("*:443", "anything", 80, false),
            ("", "h", 80, false),
            ("h:many", "h", 80, false),
            ("*.", "h", 80, false),
        ];
        for (pattern, host, port, expected) in cases {
            let patterns = [pattern.to_owned()];
            let found = first_match(&patterns, host, port).is_some();
            assert_eq!(found, expected, "{pattern} and {host}:{port}");
        }
    }
}
