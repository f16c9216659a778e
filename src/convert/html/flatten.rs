//! One linear scan over a page before its tree is built, so that no page can make the tree deep or slow.
//!
//! It follows the tags roughly as a parser does and writes the page anew without what makes parsers
//! quadratic: elements deeper than [`DEPTH`] lose their tags (never their text), a tag loses its
//! attributes beyond [`ATTRIBUTES`], unclosed formatting is closed where it piles up. Comments,
//! scripts and styles are left out on the way, since nothing reads them; TeX in scripts stays.

use memchr::{memchr, memmem};

/// Elements that may be open at once.
const DEPTH: usize = 400;

/// Attributes that a tag may have.
const ATTRIBUTES: usize = 200;

/// Open elements that are looked through for the one that a tag closes.
const LOOK: usize = 512;

/// Formatting elements that a page may leave open when what is around them ends: the parser opens
/// each of them again in every later block.
const LEFT_OPEN: usize = 16;

/// What a scan gives.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub(super) html: String,
    /// Whether the page has scripts that run.
    pub(super) has_scripts: bool,
}

/// Writes a page anew within the limits.
pub(super) fn flatten(html: &str) -> Flat {
    let mut scan = Scan {
        html,
        at: 0,
        out: String::with_capacity(html.len()),
        open: Vec::new(),
        written: 0,
        paragraphs: 0,
        foreign: 0,
        left_open: 0,
        has_scripts: false,
    };
    scan.run();
    Flat {
        html: scan.out,
        has_scripts: scan.has_scripts,
    }
}

/// A tag's name, in lower case, as a number.
type Name = u64;

/// FNV-1a over the lower case of an ASCII name.
const fn name(text: &[u8]) -> Name {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < text.len() {
        hash = (hash ^ text[at].to_ascii_lowercase() as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

macro_rules! names {
    ($($visible:ident: $($text:literal)*;)*) => {
        $(const $visible: &[Name] = &[$(name($text.as_bytes())),*];)*
    };
}

names! {
    VOID: "area" "base" "basefont" "bgsound" "br" "col" "embed" "frame" "hr" "image" "img" "input"
        "keygen" "link" "meta" "param" "source" "track" "wbr";
    DROPPED: "script" "style";
    RAW: "textarea" "title" "xmp" "iframe" "noembed" "noframes";
    FORMATTING: "a" "b" "big" "code" "em" "font" "i" "nobr" "s" "small" "strike" "strong" "tt" "u";
    // What ends a paragraph that is open.
    BLOCKS: "address" "article" "aside" "blockquote" "center" "details" "dialog" "dir" "div" "dl"
        "fieldset" "figcaption" "figure" "footer" "form" "h1" "h2" "h3" "h4" "h5" "h6" "header"
        "hgroup" "hr" "listing" "main" "menu" "nav" "ol" "p" "pre" "search" "section" "summary"
        "table" "ul" "dd" "dt" "li" "plaintext" "xmp";
    TABLE: "table" "thead" "tbody" "tfoot" "tr" "td" "th" "caption" "html" "body" "colgroup";
    // What an end tag from inside does not reach out of.
    WALLS: "table" "td" "th" "caption" "template" "html" "object";
    FOREIGN: "svg" "math";
    LISTS: "ul" "ol" "menu" "dir" "table" "td" "th";
    ITEM: "li";
    TERMS: "dt" "dd";
    TERM_LISTS: "dl" "table" "td" "th";
    CELLS: "td" "th";
    ROWS: "tr";
    ROW_GROUPS: "thead" "tbody" "tfoot";
    CELL_ENDS: "tr" "table";
    TABLE_ENDS: "table";
    PARAGRAPH: "p";
    OPTIONS: "option" "optgroup" "rt" "rp";
    LINE_END: "br";
    PLAIN: "plaintext";
    SCRIPT: "script";
}

/// An element that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    name: Name,
    /// Where its name stands in the page.
    from: usize,
    to: usize,
    is_written: bool,
}

#[derive(Debug)]
struct Scan<'a> {
    html: &'a str,
    at: usize,
    out: String,
    open: Vec<Open>,
    /// How many of those that are open were written.
    written: usize,
    /// How many of those that are open are paragraphs.
    paragraphs: usize,
    /// How many of those that are open are SVG or MathML.
    foreign: usize,
    left_open: usize,
    has_scripts: bool,
}

/// Where the parts of a tag are.
struct HtmlTag {
    name: Name,
    from: usize,
    to: usize,
    /// Behind the attributes that it keeps.
    kept: usize,
    /// Behind its `>`.
    end: usize,
    is_cut: bool,
    is_closed: bool,
}

impl Scan<'_> {
    fn run(&mut self) {
        let bytes = self.html.as_bytes();
        while let Some(found) = memchr(b'<', &bytes[self.at..]) {
            let tag = self.at + found;
            self.copy(self.at, tag);
            self.at = tag;
            match bytes.get(tag + 1) {
                Some(b'!') => self.declaration(),
                Some(b'?') => self.skip_past(">"),
                Some(b'/') if bytes.get(tag + 2).is_some_and(u8::is_ascii_alphabetic) => self.end(),
                Some(b'/') => self.skip_past(">"),
                Some(next) if next.is_ascii_alphabetic() => self.start(),
                _ => {
                    self.out.push('<');
                    self.at += 1;
                }
            }
        }
        self.copy(self.at, bytes.len());
    }

    fn copy(&mut self, from: usize, to: usize) {
        self.out.push_str(&self.html[from..to]);
    }

    /// Leaves out what is up to the end of `mark`.
    fn skip_past(&mut self, mark: &str) {
        self.at = self
            .find(mark, self.at)
            .map_or(self.html.len(), |at| at + mark.len());
    }

    fn find(&self, mark: &str, from: usize) -> Option<usize> {
        memmem::find(&self.html.as_bytes()[from..], mark.as_bytes()).map(|at| from + at)
    }

    fn declaration(&mut self) {
        let rest = &self.html[self.at..];
        if rest.starts_with("<!-->") || rest.starts_with("<!--->") {
            self.skip_past(">");
        } else if rest.starts_with("<!--") {
            self.skip_past("-->");
        } else if rest.starts_with("<![CDATA[") && self.foreign > 0 {
            let from = self.at;
            self.skip_past("]]>");
            self.copy(from, self.at);
        } else {
            let from = self.at;
            self.skip_past(">");
            if self.html[from..].len() > 9
                && self.html.as_bytes()[from + 2..from + 9].eq_ignore_ascii_case(b"doctype")
            {
                self.copy(from, self.at);
            }
        }
    }

    /// The tag that begins here; `None` where the page ends within it.
    fn tag(&self, from: usize) -> Option<HtmlTag> {
        let bytes = self.html.as_bytes();
        let is_name_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let to = from + bytes[from..].iter().position(is_name_end)?;
        let (mut at, mut count, mut kept) = (to, 0, to);
        let mut is_closed = false;
        loop {
            match *bytes.get(at)? {
                b'>' => break,
                byte if byte == b'/' || byte.is_ascii_whitespace() => {
                    is_closed = byte == b'/';
                    at += 1;
                }
                _ => {
                    at = self.attribute(at)?;
                    is_closed = false;
                    count += 1;
                    if count <= ATTRIBUTES {
                        kept = at;
                    }
                }
            }
        }
        Some(HtmlTag {
            name: name(&bytes[from..to]),
            from,
            to,
            kept,
            end: at + 1,
            is_cut: count > ATTRIBUTES,
            is_closed,
        })
    }

    /// Behind the attribute that begins here.
    fn attribute(&self, from: usize) -> Option<usize> {
        let bytes = self.html.as_bytes();
        let is_blank = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
        let mut at = from + 1;
        while !matches!(bytes.get(at)?, b'=' | b'>' | b'/') && !is_blank(at) {
            at += 1;
        }
        let name_end = at;
        while is_blank(at) {
            at += 1;
        }
        if *bytes.get(at)? != b'=' {
            return Some(name_end);
        }
        at += 1;
        while is_blank(at) {
            at += 1;
        }
        match *bytes.get(at)? {
            quote @ (b'"' | b'\'') => Some(at + 2 + memchr(quote, &bytes[at + 1..])?),
            _ => {
                while *bytes.get(at)? != b'>' && !is_blank(at) {
                    at += 1;
                }
                Some(at)
            }
        }
    }

    fn start(&mut self) {
        let Some(tag) = self.tag(self.at + 1) else {
            self.at = self.html.len();
            return;
        };
        let from = self.at;
        self.at = tag.end;
        if DROPPED.contains(&tag.name) && !(tag.is_closed && self.foreign > 0) {
            return self.dropped(&tag, from);
        }
        self.close_implied(tag.name);
        let is_void = VOID.contains(&tag.name) || (tag.is_closed && self.foreign > 0);
        let is_written = is_void || self.written < DEPTH;
        if is_written {
            self.write_tag(&tag, from);
        }
        if is_void {
            return;
        }
        if self.foreign == 0 && (RAW.contains(&tag.name) || PLAIN.contains(&tag.name)) {
            return self.raw(&tag);
        }
        self.push(&tag, is_written);
    }

    fn write_tag(&mut self, tag: &HtmlTag, from: usize) {
        if tag.is_cut {
            self.copy(from, tag.kept);
            self.out.push_str(if tag.is_closed { "/>" } else { ">" });
        } else {
            self.copy(from, tag.end);
        }
    }

    fn push(&mut self, tag: &HtmlTag, is_written: bool) {
        self.written += usize::from(is_written);
        self.paragraphs += usize::from(PARAGRAPH.contains(&tag.name));
        self.foreign += usize::from(FOREIGN.contains(&tag.name));
        self.open.push(Open {
            name: tag.name,
            from: tag.from,
            to: tag.to,
            is_written,
        });
    }

    /// A script or style: only TeX is kept.
    fn dropped(&mut self, tag: &HtmlTag, from: usize) {
        let end = self.raw_end(tag);
        if SCRIPT.contains(&tag.name) {
            let attributes = self.html[tag.to..tag.end].to_ascii_lowercase();
            if attributes.contains("math/tex") {
                self.copy(from, end.1);
            } else if !attributes.contains("ld+json") && !attributes.contains("application/json") {
                self.has_scripts = true;
            }
        }
        self.at = end.1;
    }

    /// An element whose content is text up to its end tag; it is written already.
    fn raw(&mut self, tag: &HtmlTag) {
        if PLAIN.contains(&tag.name) {
            self.copy(self.at, self.html.len());
            self.at = self.html.len();
            return;
        }
        let (content, end) = self.raw_end(tag);
        self.copy(self.at, content);
        self.out.push_str("</");
        self.copy(tag.from, tag.to);
        self.out.push('>');
        self.at = end;
    }

    /// Where the text of a raw element ends, and its end tag.
    fn raw_end(&self, tag: &HtmlTag) -> (usize, usize) {
        let bytes = self.html.as_bytes();
        let wanted = &bytes[tag.from..tag.to];
        let mut at = tag.end;
        while let Some(found) = self.find("</", at) {
            let behind = found + 2 + wanted.len();
            let is_it = bytes
                .get(found + 2..behind)
                .is_some_and(|text| text.eq_ignore_ascii_case(wanted))
                && bytes
                    .get(behind)
                    .is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'/' | b'>'));
            if is_it {
                let end = memchr(b'>', &bytes[behind..]).map_or(bytes.len(), |to| behind + to + 1);
                return (found, end);
            }
            at = found + 2;
        }
        (bytes.len(), bytes.len())
    }

    /// Ends what the tag ends that is about to begin.
    fn close_implied(&mut self, name: Name) {
        let (ended, walls) = match name {
            _ if ITEM.contains(&name) => (ITEM, LISTS),
            _ if TERMS.contains(&name) => (TERMS, TERM_LISTS),
            _ if CELLS.contains(&name) => (CELLS, CELL_ENDS),
            _ if ROWS.contains(&name) => (ROWS, TABLE_ENDS),
            _ if ROW_GROUPS.contains(&name) => (ROW_GROUPS, TABLE_ENDS),
            _ if OPTIONS.contains(&name) => {
                if self.open.last().is_some_and(|top| top.name == name) {
                    self.pop_from(self.open.len() - 1, None);
                }
                return;
            }
            _ => (&[][..], &[][..]),
        };
        if !ended.is_empty()
            && let Some(at) = self.look(ended, walls)
        {
            self.pop_from(at, None);
        }
        if self.paragraphs > 0
            && BLOCKS.contains(&name)
            && let Some(at) = self.look(PARAGRAPH, WALLS)
        {
            self.pop_from(at, None);
        }
    }

    /// The innermost open element of these names, not behind one of the walls.
    fn look(&self, names: &[Name], walls: &[Name]) -> Option<usize> {
        let from = self.open.len().saturating_sub(LOOK);
        for at in (from..self.open.len()).rev() {
            if names.contains(&self.open[at].name) {
                return Some(at);
            }
            if walls.contains(&self.open[at].name) {
                return None;
            }
        }
        None
    }

    /// Takes what is open from `at` on off the list; `by` is the name of the end tag that does it.
    fn pop_from(&mut self, at: usize, by: Option<Name>) {
        while self.open.len() > at {
            let Some(last) = self.open.pop() else { return };
            self.forget(last);
            let is_left_open = FORMATTING.contains(&last.name)
                && last.is_written
                && !(by == Some(last.name) && self.open.len() == at);
            if is_left_open {
                self.left_open += 1;
                if self.left_open > LEFT_OPEN {
                    self.out.push_str("</");
                    self.copy(last.from, last.to);
                    self.out.push('>');
                }
            }
        }
    }

    fn forget(&mut self, element: Open) {
        self.written -= usize::from(element.is_written);
        self.paragraphs -= usize::from(PARAGRAPH.contains(&element.name));
        self.foreign -= usize::from(FOREIGN.contains(&element.name));
    }

    fn end(&mut self) {
        let Some(tag) = self.tag(self.at + 2) else {
            self.at = self.html.len();
            return;
        };
        let from = self.at;
        self.at = tag.end;
        let wanted = [tag.name];
        let found = if TABLE.contains(&tag.name) {
            self.look(&wanted, &[])
        } else {
            self.look(&wanted, WALLS)
        };
        let Some(at) = found else {
            // It closes nothing, but for these two, which a parser makes elements of.
            if LINE_END.contains(&tag.name) {
                self.copy(from, tag.to);
                self.out.push('>');
            }
            return;
        };
        let is_written = self.open[at].is_written;
        if FORMATTING.contains(&tag.name) {
            let element = self.open.remove(at);
            self.forget(element);
        } else if BLOCKS.contains(&tag.name) || TABLE.contains(&tag.name) {
            self.pop_from(at, Some(tag.name));
        } else {
            // The end of an inline element does not end blocks within it.
            let is_special =
                |open: &Open| BLOCKS.contains(&open.name) || TABLE.contains(&open.name);
            if self.open[at + 1..].iter().any(is_special) && self.foreign == 0 {
                let element = self.open.remove(at);
                self.forget(element);
            } else {
                self.pop_from(at, Some(tag.name));
            }
        }
        if is_written {
            self.copy(from, tag.to);
            self.out.push('>');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(html: &str) -> String {
        flatten(html).html
    }

    #[test]
    fn an_ordinary_page_stays_as_it_is() {
        let page = "<!doctype html><html><body class='a b'><p>One <b>two<br></b><ul><li>x<li>y</ul>\
                    <table><tr><td>1<td>2</table><svg><path d=x/></svg></body></html>";
        assert_eq!(flat(page), page);
    }

    #[test]
    fn comments_scripts_and_styles_go_and_tex_stays() {
        let page = "<!-- <p> -->a<script>if (a</b) '</p>'</script>b<style>p{}</style>\
                    <script type=\"math/tex\">a<b</script><title>a <b></title>";
        let flat = flatten(page);
        assert_eq!(
            flat.html,
            "ab<script type=\"math/tex\">a<b</script><title>a <b></title>"
        );
        assert!(flat.has_scripts);
    }

    #[test]
    fn deep_elements_lose_their_tags_and_keep_their_text() {
        let page = format!("{}x{}y", "<div>".repeat(10_000), "</div>".repeat(10_000));
        let flat = flat(&page);
        assert_eq!(flat.matches("<div>").count(), DEPTH);
        assert_eq!(flat.matches("</div>").count(), DEPTH);
        assert!(flat.contains("<div>x</div>") && flat.ends_with("</div>y"));
    }

    #[test]
    fn items_without_an_end_are_not_deep() {
        let page = "<ul>".to_owned() + &"<li><p>x<p>y".repeat(1000) + "</ul>";
        assert_eq!(flat(&page), page);
    }

    #[test]
    fn a_tag_keeps_its_first_attributes() {
        let many: String = (0..1000).map(|n| format!(" a{n}='>'")).collect();
        let flat = flat(&format!("<p{many}>x"));
        assert!(flat.ends_with(" a199='>'>x"), "{flat}");
    }

    #[test]
    fn formatting_that_is_left_open_is_closed_where_it_piles_up() {
        let page: String = (0..100)
            .map(|n| format!("<div><b id={n}>x</div>"))
            .collect();
        assert_eq!(flat(&page).matches("</b>").count(), 100 - LEFT_OPEN);
    }

    #[test]
    fn an_inline_end_does_not_end_blocks() {
        let page = "<div><b><div>x</b>y</div>z</div>";
        assert_eq!(flat(page), page);
    }
}
