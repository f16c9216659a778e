//! Whether a URI is one that a URI template (RFC 6570) stands for.
//!
//! What an expression stands for is taken broadly: a variable by itself is anything within one part of a path, `{+x}`
//! anything at all. Parts are matched side by side over the set of places where the ones before may have ended, so no
//! template takes more time than its parts times the bytes of the URI.

/// Longer ones fit nothing.
const MAX_BYTES: usize = 4096;
const MAX_PARTS: usize = 32;

enum TemplatePart<'a> {
    Literal(&'a str),
    /// At least one character that is no `/`, after this prefix.
    Within(&'static str),
    /// At least one character of any kind, after this prefix.
    Any(&'static str),
    /// Nothing, or one of these characters and whatever follows.
    Query(&'static [u8]),
}

/// Whether `template` can be expanded to `uri`. A template without a variable stands for nothing.
pub fn fits(template: &str, uri: &str) -> bool {
    if template.len() > MAX_BYTES || uri.len() > MAX_BYTES {
        return false;
    }
    let Some(parts) = parts(template) else {
        return false;
    };
    let uri = uri.as_bytes();
    // Whether the parts so far can end before the byte of that number.
    let mut ends = vec![false; uri.len() + 1];
    ends[0] = true;
    for part in parts {
        ends = match part {
            TemplatePart::Literal(text) => after(&ends, uri, text),
            TemplatePart::Within(prefix) => {
                spread(&after(&ends, uri, prefix), |at| uri[at] != b'/')
            }
            TemplatePart::Any(prefix) => spread(&after(&ends, uri, prefix), |_| true),
            TemplatePart::Query(marks) => {
                let begins = |at: usize| ends[at] && uri.get(at).is_some_and(|b| marks.contains(b));
                let first = (0..ends.len()).find(|at| begins(*at));
                let onward = |at: usize| first.is_some_and(|first| at > first);
                (0..ends.len()).map(|at| ends[at] || onward(at)).collect()
            }
        };
        if !ends.contains(&true) {
            return false;
        }
    }
    ends[uri.len()]
}

/// The places after `text`, where it stands at one of these places.
fn after(ends: &[bool], uri: &[u8], text: &str) -> Vec<bool> {
    let mut next = vec![false; ends.len()];
    for at in (0..ends.len()).filter(|at| ends[*at]) {
        if uri[at..].starts_with(text.as_bytes()) {
            next[at + text.len()] = true;
        }
    }
    next
}

/// The places that one or more bytes of that kind lead to.
fn spread(ends: &[bool], is_of_it: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut next = vec![false; ends.len()];
    for at in 1..ends.len() {
        next[at] = (ends[at - 1] || next[at - 1]) && is_of_it(at - 1);
    }
    next
}

/// The parts of a template; `None` for what is none.
fn parts(template: &str) -> Option<Vec<TemplatePart<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    let mut variables = 0;
    while let Some(open) = rest.find('{') {
        if open > 0 {
            parts.push(TemplatePart::Literal(&rest[..open]));
        }
        let close = open + rest[open..].find('}')?;
        let expression = &rest[open + 1..close];
        let explodes = expression.ends_with('*');
        parts.push(match expression.bytes().next()? {
            b'+' => TemplatePart::Any(""),
            b'#' => TemplatePart::Any("#"),
            b'.' => TemplatePart::Within("."),
            b'/' if explodes => TemplatePart::Any("/"),
            b'/' => TemplatePart::Within("/"),
            b'?' => TemplatePart::Query(b"?"),
            b'&' => TemplatePart::Query(b"&?"),
            b';' => TemplatePart::Query(b";"),
            _ if explodes => TemplatePart::Any(""),
            _ => TemplatePart::Within(""),
        });
        variables += 1;
        rest = &rest[close + 1..];
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Literal(rest));
    }
    (variables > 0 && parts.len() <= MAX_PARTS).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_what_they_stand_for() {
        for (template, uri) in [
            ("demo://t/{id}", "demo://t/5"),
            ("demo://t/{id}", "demo://t/a:12"),
            ("demo://t/{id}/x", "demo://t/5/x"),
            ("repo://{owner}/{repo}{/path*}", "repo://a/b/c/d/e"),
            ("file:///{+path}", "file:///etc/passwd"),
            ("s://x{?q,r}", "s://x"),
            ("s://x{?q,r}", "s://x?q=1&r=2"),
            ("s://{a}-{b}", "s://x-y-z"),
            ("s://f{.ext}", "s://f.txt"),
            ("s://é{x}", "s://éé"),
        ] {
            assert!(fits(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn and_nothing_else() {
        for (template, uri) in [
            ("demo://t/{id}", "demo://t/"),
            ("demo://t/{id}", "demo://t/5/6"),
            ("demo://t/{id}", "demo://u/5"),
            ("demo://t/{id}", "xdemo://t/5"),
            ("demo://t", "demo://t"),
            ("s://x{?q}", "s://xy"),
            ("s://{", "s://{"),
            ("s://{}", "s://x"),
        ] {
            assert!(!fits(template, uri), "{template} {uri}");
        }
        let many = "{a}".repeat(1000);
        assert!(!fits(&many, "aaaa"));
        assert!(!fits("{+a}", &"a".repeat(100_000)));
    }
}
