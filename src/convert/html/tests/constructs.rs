//! Pages to Markdown, construct by construct.

use insta::assert_snapshot;

use super::{page, text};

#[test]
fn no_line_is_a_heading_or_a_fence_that_the_page_does_not_have() {
    let html = "<pre>```\n# not a heading\n```</pre><p>```\n# text</p><p title='x\n# y'>~~~</p>";
    assert_snapshot!(text(html), @r"
    ````
    ```
    # not a heading
    ```
    ````

    \`\`\` # text

    \~~~
    ");
}

#[test]
fn paragraphs_and_emphasis() {
    let html = r#"<p>One <b>two </b>three <i>four</i>, <b><i>five</i></b> <strong>six</strong><strong>seven</strong>.
   New  line<br>broken<br><br>next paragraph</p><div>in a div <span>and</span> more<p>inner</p>tail</div>"#;
    assert_snapshot!(text(html), @r#"
One **two** three *four*, ***five*** **sixseven**. New line  
broken

next paragraph

in a div and more

inner

tail
"#);
}

#[test]
fn links_and_what_is_none() {
    let html = r##"<p><a href="/a b">abs</a> <a href="#part">part</a> <a href="https://example.com/docs/page#part">same</a>
<a href="javascript:x()">script</a> <a href="data:text/plain,x">data</a> <a href="c_(d)?x=[1]">paren</a> <a href="z"></a>
<a href="y" aria-label="Label"></a> <a href=q><img src=i.png alt="A picture"></a> <a name=old>no link</a></p>"##;
    assert_snapshot!(text(html), @r#"
[abs](https://example.com/a%20b) [part](#part) [same](#part) script data [paren](https://example.com/docs/c_(d)?x=[1]) [Label](https://example.com/docs/y) [![A picture](https://example.com/docs/i.png)](https://example.com/docs/q) no link
"#);
}

#[test]
fn a_base_of_its_own() {
    let html = r#"<base href="/other/"><p><a href="x">x</a> <img src="y.png" alt="y"></p>"#;
    assert_snapshot!(text(html), @r#"
[x](https://example.com/other/x) ![y](https://example.com/other/y.png)
"#);
}

#[test]
fn a_card_is_a_link_on_its_first_line() {
    let html = r#"<a href="/card"><h3>Card</h3><p>What it is.</p></a>"#;
    assert_snapshot!(text(html), @r#"
### [Card](https://example.com/card)

What it is.
"#);
}

#[test]
fn headings_lose_their_marks() {
    let html = r##"<h1>One<a class="headerlink" href="#one">¶</a></h1><h2 id=two><a href="#two"><b>Two</b></a> <code>x</code></h2>
<h3><a class="anchor" aria-hidden="true" href="#three"><svg></svg></a>Three</h3><h4></h4>"##;
    assert_snapshot!(text(html), @r#"
# One

## Two `x`

### Three
"#);
}

#[test]
fn a_heading_that_leads_to_the_contents_stays() {
    let html = r##"<h2><a class="toc-backref" href="#id1" role="doc-backlink">Commands</a><a class="headerlink" href="#b">¶</a></h2>"##;
    assert_snapshot!(text(html), @"
## Commands
");
}

#[test]
fn a_heading_may_be_about_what_stands_around_texts() {
    let paragraph = "<p>Words that are long enough to be the main part of a page, so many that nobody calls it poor, ever and ever again.</p>";
    let headings = [
        "extracting-fields",
        "response-headers",
        "sidebar",
        "comments",
        "related",
        "footer",
        "menu",
        "breadcrumbs",
    ];
    let body = headings.map(|id| format!("<h3 id={id}>About {id}</h3>{paragraph}"));
    let html = format!(
        "<title>T</title><main><h1>T</h1>{paragraph}{}</main>",
        body.concat()
    );
    let (_, text) = page(&html);
    for id in headings {
        assert!(text.contains(&format!("### About {id}")), "{id}: {text}");
    }
}

#[test]
fn pictures() {
    let html = r#"<p><img src=a.png alt="a"> <img src=b.png> <img src="data:image/gif;base64,R0" data-src="c.png" alt=c>
<img srcset="d-1.png 1x, d-2.png 2x" alt=d> <img src="data:image/png;base64,AA" alt="e"> <img src=p.gif width=1 height=1 alt=pixel></p>
<figure><img src=f.png><figcaption>Caption <em>of it</em></figcaption></figure>"#;
    assert_snapshot!(text(html), @r#"
![a](https://example.com/docs/a.png) ![c](https://example.com/docs/c.png) ![d](https://example.com/docs/d-1.png) ![e]

![](https://example.com/docs/f.png)

Caption *of it*
"#);
}

#[test]
fn code_is_byte_for_byte() {
    let html = r#"<pre><code class="language-rust">fn main() {
	let x = "```";   

}
</code></pre><div class="highlight-source-shell"><pre>$ ls<br>a  b</pre></div>
<div class="brush: python"><pre>x = 1</pre></div><pre class="sourceCode haskell"><code class="sourceCode haskell"><a id="cb1-1"></a>main = x</code></pre>
<pre lang=yaml>a: b</pre><pre>
plain</pre>"#;
    assert_snapshot!(text(html), @r#"
````rust
fn main() {
	let x = "```";   

}
````

```shell
$ ls
a  b
```

```python
x = 1
```

```haskell
main = x
```

```yaml
a: b
```

```
plain
```
"#);
}

#[test]
fn code_without_its_gutter() {
    let html = r#"<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1
2</pre></div></td><td class="code"><div class="highlight-c"><pre>int a;
int b;</pre></div></td></tr></table>
<pre><span class="line-numbers-rows"><span>1</span></span><code>one</code></pre>
<div class="fragment"><div class="line"><span class="lineno">    1</span> int <a href="x">x</a>;</div><div class="line"></div><div class="line">return;</div></div>
<pre class="shiki"><code><span class="line">a</span>
<span class="line">  b</span></code></pre>
<pre><code class="cb"><div class="token-line">a<br></div><div class="token-line">b<br></div></code></pre>"#;
    assert_snapshot!(text(html), @r#"
```c
int a;
int b;
```

```
one
```

```
 int x;

return;
```

```
a
  b
```

```
a
b
```
"#);
}

#[test]
fn spans_of_code() {
    let html = r#"<p><code>a  b</code> <code>`</code> <code> x</code> <code>a|b</code> <tt>t</tt> <code><a href="/v">Vec</a></code> <code>m<a href="/n">n</a></code>
<a href="/o"><code>o</code></a> <code>two
lines</code></p>"#;
    assert_snapshot!(text(html), @r#"
`a  b` `` ` `` ` x` `a|b` `t` [`Vec`](https://example.com/v) `mn` [`o`](https://example.com/o) `two lines`
"#);
}

#[test]
fn lists() {
    let html = r#"<ul><li>one<ul><li>nested<ol><li>deep</ol></ul><li><p>two</p></ul><ol start=9><li>nine<li>ten<p>more</p><li><pre>code</pre></ol>
<ul><li>a</li><ul><li>not in an item</li></ul><li></li><li value=3><input type=checkbox checked disabled> done</li><li><input type=checkbox> open</ul>"#;
    assert_snapshot!(text(html), @r#"
- one
  - nested
    1. deep
- two

9. nine

10. ten

    more

11. ```
    code
    ```

- a
  - not in an item
- [x] done
- [ ] open
"#);
}

#[test]
fn terms() {
    let html = r##"<dl><dt>term<dt>other<dd>what it is<dt><code>code</code><dd><p>one<p>two<ul><li>x</ul></dl>
<dl class="py function"><dt class="sig sig-object py" id="m.f"><span>m.</span><span>f</span>(<em>a</em>, <em>*</em>)<a class="headerlink" href="#m.f">¶</a></dt><dd><p>Does.</p></dd></dl>
<dl><div><dt>grouped</dt><dd>yes</dd></div></dl>"##;
    assert_snapshot!(text(html), @r#"
**term**
**other**
: what it is

`code`
: one

  two

  - x

`m.f(a, *)`
: Does.

**grouped**
: yes
"#);
}

#[test]
fn tables() {
    let html = r#"<table><caption>Sizes</caption><thead><tr><th>a|b<th>c</thead><tbody><tr><td>1<br>2<td><b>x</b><tr><td colspan=2>wide</tbody></table>
<table><tr><td>no<td>head<tr><td rowspan=2>tall<td>1<tr><td>2<td>3</table>
<table><tr><th>k</th><td>a  <p>b</p><p>c</p></td></tr><tr><th>l</th><td></td></tr></table>"#;
    assert_snapshot!(text(html), @r#"
Sizes

| a\|b | c |
| --- | --- |
| 1<br>2 | **x** |
| wide | wide |

| no | head | |
| --- | --- | --- |
| tall | 1 | |
| tall | 2 | 3 |

| k | a<br>b<br>c |
| --- | --- |
| l | |
"#);
}

#[test]
fn tables_that_lay_out() {
    let html = r#"<table role=presentation><tr><td>left<td>right</table><table><tr><td>only</table>
<table><tr><td><pre>code</pre><td>text</table><table><tr><td>x<td><table><tr><td>1<td>2</table></table>
<table><tr><th>h<th>i<tr><td>a<td><ul><li>b<li>c</ul></table>"#;
    assert_snapshot!(text(html), @r#"
left

right

only

```
code
```

text

x

| 1 | 2 |
| --- | --- |

h

i

a

- b
- c
"#);
}

#[test]
fn quotes_and_boxes() {
    let html = r#"<blockquote><p>a</p><blockquote>b</blockquote></blockquote>
<div class="admonition warning"><p class="admonition-title">Warning</p><p>Hot.</p></div>
<div class="markdown-alert markdown-alert-tip"><p class="markdown-alert-title"><svg></svg>Tip</p><p>Try.</p></div>
<aside class="note">Mind <b>this</b>.</aside><div class="custom-block danger"><p class="custom-block-title">DANGER</p><pre>rm</pre></div>
<div class="admonitionblock note"><table><tr><td class="icon"><div class="title">Note</div></td><td class="content">In a table.</td></tr></table></div>
<details><summary>More</summary>inside</details>"#;
    assert_snapshot!(text(html), @r#"
> a
>
> > b

> **Warning**
>
> Hot.

> **Tip**
>
> Try.

> **Note**
>
> Mind **this**.

> **DANGER**
>
> ```
> rm
> ```

> **Note**
>
> In a table.

**More**

inside
"#);
}

#[test]
fn footnotes() {
    let html = r##"<p>Text<sup id="fnref1"><a href="#fn1">1</a></sup> and <a class="footnote-ref" href="#fn2" role="doc-noteref"><sup>2</sup></a>, <sup><a href="#gone">3</a></sup>.</p>
<section class="footnotes"><ol><li id="fn1"><p>First. <a href="#fnref1" class="footnote-backref">↩</a></p></li><li id="fn2"><p>Second.</p><p>More.<a href="#x" role="doc-backlink">↩︎</a></p></li></ol></section>"##;
    assert_snapshot!(text(html), @r#"
Text[^1] and [^2], [3](#gone).

[^1]: First.

[^2]: Second.

    More.
"#);
}

#[test]
fn formulas() {
    let html = r#"<p>Inline <math alttext="a+b"><mi>a</mi></math>, <span class="math notranslate">\(x_1\)</span>, <img class="tex" alt="y^2" src=y.png>,
<script type="math/tex">z</script>, <span class="katex"><span class="katex-mathml"><math><semantics><mi>q</mi><annotation encoding="application/x-tex">q</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">qq</span></span>.</p>
<script type="math/tex; mode=display">\sum x</script><div class="math">\[ \int f \]</div>
<math display="block"><semantics><annotation encoding="application/x-tex">{\displaystyle E}</annotation></semantics></math>"#;
    assert_snapshot!(text(html), @r#"
Inline $a+b$, $x_1$, $y^2$, $z$, $q$.

$$\sum x$$

$$\int f$$

$$E$$
"#);
}

#[test]
fn what_markdown_has_as_html() {
    let html = r#"<p>x<sup>2</sup> H<sub>2</sub>O <kbd><kbd>Ctrl</kbd>+<kbd>C</kbd></kbd> <del>gone</del> <q>said</q> <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> <abbr title=x>abbr</abbr></p>"#;
    assert_snapshot!(text(html), @r#"
x<sup>2</sup> H<sub>2</sub>O <kbd>Ctrl</kbd>+<kbd>C</kbd> ~~gone~~ “said” 漢(kan) abbr
"#);
}

#[test]
fn escapes() {
    let html = r#"<p># no heading</p><p>1. no item</p><p>*stars* and __init__ and snake_case, 2 * 3, Vec&lt;T&gt;, &amp;amp; `tick` [a](b) [1]</p><p>- no item<br>&gt; no quote</p><p>---</p>"#;
    assert_snapshot!(text(html), @r#"
\# no heading

1\. no item

\*stars\* and \_\_init\_\_ and snake_case, 2 * 3, Vec\<T>, \&amp; \`tick\` \[a\](b) \[1\]

\- no item  
\> no quote

\---
"#);
}

#[test]
fn what_nobody_sees() {
    let html = r##"<p>seen</p><p hidden>h</p><p style="display: none">d</p><p style="opacity:0">o</p><div aria-hidden=true>a</div><template>t</template><button>b</button>
<script>s</script><style>s</style><noscript>n</noscript><dialog open>dialog</dialog><a href="#main" class=x>Skip to content</a>
<div role=tablist><button role=tab>npm</button><button role=tab>yarn</button></div><div role=tabpanel>npm i</div><div role=tabpanel hidden>yarn add</div><p>zero&#x200B;width &#x202E;over</p>"##;
    assert_snapshot!(text(html), @r#"
seen

n

npm yarn

npm i

yarn add

zerowidth over
"#);
}
