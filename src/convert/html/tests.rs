//! Whole pages against their goldens in `fixtures/web`, what is said of pages, and pages made to break a parser.

mod constructs;

use super::*;

fn request() -> HtmlRequest {
    HtmlRequest {
        base: "https://example.com/docs/page".to_owned(),
        output_bytes: 1 << 24,
        ..HtmlRequest::default()
    }
}

fn page(html: &str) -> (HtmlPage, String) {
    convert(html.as_bytes(), &request()).expect("a page")
}

/// What a page of documentation is written as, of which reader mode is not asked.
fn text(html: &str) -> String {
    page(&format!("<meta name=generator content='Sphinx 9'>{html}")).1
}

#[test]
fn whole_pages_are_their_goldens() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/web");
    let mut pages = 0;
    for entry in std::fs::read_dir(&folder).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let request = HtmlRequest {
            base: format!("https://site.example/a/{name}"),
            ..request()
        };
        let bytes = std::fs::read(&path).expect("a page");
        let (page, text) = convert(&bytes, &request).expect("a conversion");
        let golden = std::fs::read_to_string(path.with_extension("md")).expect("a golden");
        assert_eq!(text, golden, "{name}");
        let is_shell = name.starts_with("shell") || name == "challenge";
        assert_eq!(
            (page.is_shell, page.has_password_field),
            (is_shell, name == "login"),
            "{name}"
        );
        let old = ["shift-jis", "gbk", "euc-kr"].contains(&name.as_str());
        let encoding = if old {
            name.replace("shift-", "shift_")
        } else {
            "utf-8".to_owned()
        };
        assert_eq!(page.encoding, encoding, "{name}");
        pages += 1;
    }
    assert_eq!(pages, 24);
}

#[test]
fn a_fragment_names_lines() {
    let html = "<meta name=generator content=mkdocs><div id=all><h1>One</h1><p>a</p>\
                <a name=two></a><h2 id=zwei>Two</h2><p id=p>b</p><p>c</p>\
                <h3>Three<a id=three href='#three'>¶</a></h3><p>d</p>\
                <h2 id=four>Four</h2><dl><dt id=term>t<dd>e</dl><p>f <b id=bold>g</b></p></div>";
    let (page, text) = page(html);
    let lines: Vec<&str> = text.lines().collect();
    let shown = |id: &str| {
        let section = page
            .sections
            .iter()
            .find(|section| section.id == id)
            .expect(id);
        let range = section.start as usize - 1..section.end as usize;
        let texts: Vec<&str> = lines[range]
            .iter()
            .copied()
            .filter(|line| !line.is_empty())
            .collect();
        texts.join("/")
    };
    assert_eq!(
        shown("all"),
        "# One/a/## Two/b/c/### Three/d/## Four/**t**/: e/f **g**"
    );
    assert_eq!(shown("two"), "## Two/b/c/### Three/d");
    assert_eq!(shown("zwei"), shown("two"));
    // Not on a heading: up to the next name.
    assert_eq!(shown("p"), "b/c");
    assert_eq!(shown("three"), "### Three/d");
    assert_eq!(shown("four"), "## Four/**t**/: e/f **g**");
    assert_eq!(shown("term"), "**t**/: e");
    assert_eq!(shown("bold"), "f **g**");
}

#[test]
fn links_are_listed_once_those_of_the_text_first() {
    let words = "word ".repeat(60);
    let html = format!(
        "<nav><a href=/home>Home</a><a href=/a>A in the way</a></nav>\
         <main><p>{words}<a href=/a>A</a> <a href='#x'>own</a> <a href=/a>again</a> \
         <a href=/b title=B><img src=b.png></a> <a href=/r.pdf?x=1>Report</a></main>"
    );
    let (page, _) = page(&html);
    let links: Vec<String> = page
        .links
        .iter()
        .map(|link| format!("{} {}", link.text, link.url))
        .collect();
    assert_eq!(
        links,
        [
            "A https://example.com/a",
            "B https://example.com/b",
            "Report https://example.com/r.pdf?x=1",
            "Home https://example.com/home",
        ]
    );
    assert_eq!(
        page.document_link.as_deref(),
        Some("https://example.com/r.pdf?x=1")
    );
}

#[test]
fn what_a_page_says_of_itself() {
    let (page, _) = page(
        "<title> A\n title </title><meta name=description content='What it is'>\
         <meta http-equiv=Refresh content='3; URL=\"/next\"'>\
         <link rel=alternate type='text/markdown; charset=utf-8' href=page.md>\
         <link rel='alternate home' type=application/atom+xml href=/feed>\
         <link rel=alternate hreflang=de href=/de><form><input type=PASSWORD></form>",
    );
    assert_eq!(page.title.as_deref(), Some("A title"));
    assert_eq!(page.description.as_deref(), Some("What it is"));
    assert_eq!(
        page.refresh,
        Some((3, "https://example.com/next".to_owned()))
    );
    assert_eq!(
        page.markdown_alternate.as_deref(),
        Some("https://example.com/docs/page.md")
    );
    assert_eq!(page.feed_alternates, ["https://example.com/feed"]);
    assert!(page.has_password_field);
}

#[test]
fn shells_and_poor_pages() {
    let script = "<script src=a.js></script>";
    let judged = |html: String| {
        let (page, _) = page(&html);
        (page.is_shell, page.is_poor)
    };
    let words = |count: usize| "word ".repeat(count);
    assert_eq!(judged(format!("{script}<p>{}", words(24))), (true, true));
    assert_eq!(judged(format!("{script}<p>{}", words(25))), (false, false));
    // Without a script a short page is an honest one.
    assert_eq!(judged("<p>Moved.".to_owned()), (false, false));
    let filler = format!("<div data-x='{}'></div>", "x".repeat(60 * 1024));
    assert_eq!(
        judged(format!("{script}{filler}<p>{}", words(99))),
        (true, true)
    );
    assert_eq!(
        judged(format!("{script}{filler}<p>{}", words(150))),
        (false, false)
    );
    assert_eq!(judged(format!("{filler}<p>{}", words(39))), (false, true));
    let wish = "Please enable JavaScript to see this site; it cannot be shown without it, whatever browser it is \
                that you have, and whatever you came here for today.";
    assert_eq!(judged(format!("{script}<p>{wish}")), (true, true));
    let index: String = (0..40)
        .map(|n| format!("<li><a href=/{n}>page number {n}</a>"))
        .collect();
    assert_eq!(judged(format!("<ul>{index}</ul>")), (false, true));
    let prose = format!("<li><a href=/x>x</a> {}", words(9));
    assert_eq!(judged(format!("<ul>{index}{prose}</ul>")), (false, false));
}

#[test]
fn the_whole_page_has_what_stands_around_its_text() {
    let html = format!(
        "<nav><a href=/h>Home</a></nav><main><p>{}</main><footer>Imprint</footer>",
        "word ".repeat(60)
    );
    let (part, text) = page(&html);
    assert_eq!(part.method, HtmlMethod::Reader);
    assert!(!text.contains("Home") && !text.contains("Imprint"));
    let wanted = HtmlRequest {
        whole: true,
        ..request()
    };
    let (page, text) = convert(html.as_bytes(), &wanted).expect("a page");
    assert_eq!(page.method, HtmlMethod::Page);
    assert!(text.contains("Home") && text.contains("Imprint"));
}

/// Runs with the stack that a worker has.
fn in_a_worker(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(64 * 1024 * 1024)
        .spawn(work);
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn what_is_deep_or_wide_or_long_is_still_a_page() {
    in_a_worker(|| {
        for name in [
            "div",
            "b",
            "blockquote",
            "ul><li",
            "table><tr><td",
            "span",
            "font color=x",
            "q",
            "dl><dd",
        ] {
            let deep = format!("<{name}>").repeat(10_000) + "the text";
            assert!(text(&deep).contains("the text"), "{name}");
        }
        let wide: String = (0..100_000).map(|n| format!(" a{n}=1")).collect();
        assert!(text(&format!("<p{wide}>the text")).contains("the text"));
        let long = format!("<p>the text{}", "<p>more".repeat(1_300_000));
        let (page, text) = page(&long);
        assert!(text.starts_with("the text\n"));
        assert_eq!(page.notes, ["the first 8.0MB of 8.6MB of HTML"]);
        let spans = "<tr><td rowspan=65534 colspan=1000>x".repeat(2000);
        assert!(super::tests::text(&format!("<table>{spans}</table>")).len() < 1 << 24);
        let unclosed = "<a href=x><b><i>text".repeat(20_000);
        assert!(super::tests::text(&unclosed).contains("text"));
    });
}

#[test]
fn what_is_cut_says_so() {
    let short = HtmlRequest {
        output_bytes: 100,
        ..request()
    };
    let (page, text) = convert("<p>0123456789".repeat(50).as_bytes(), &short).expect("a page");
    assert!(text.len() <= 100 && text.ends_with("0123456789\n"));
    assert_eq!(page.notes, ["the first 0.0MB of its text"]);
}
