//! Prints `PATH<tab>NAME<tab>FIRST<tab>LAST` for each item of the Rust files whose paths are on stdin, as syn has them.

use std::io::BufRead;

use syn::spanned::Spanned;
use syn::{Attribute, ImplItem, Item, TraitItem, Type};

fn main() {
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Ok(file) = syn::parse_file(&text) {
            items(&path, "", &file.items);
        }
    }
}

fn tell(path: &str, around: &str, name: &str, attributes: &[Attribute], item: &dyn Spanned) {
    let first = attributes.iter().map(|it| it.span().start().line).min();
    let span = item.span();
    let first = first.unwrap_or(usize::MAX).min(span.start().line);
    println!("{path}\t{around}{name}\t{first}\t{}", span.end().line);
}

fn items(path: &str, around: &str, items: &[Item]) {
    for item in items {
        let mut tell = |name: &syn::Ident, attributes: &[Attribute]| {
            tell(path, around, &name.to_string(), attributes, item);
        };
        match item {
            Item::Const(it) => tell(&it.ident, &it.attrs),
            Item::Enum(it) => tell(&it.ident, &it.attrs),
            Item::Fn(it) => tell(&it.sig.ident, &it.attrs),
            Item::Static(it) => tell(&it.ident, &it.attrs),
            Item::Struct(it) => tell(&it.ident, &it.attrs),
            Item::Type(it) => tell(&it.ident, &it.attrs),
            Item::Union(it) => tell(&it.ident, &it.attrs),
            Item::Macro(it) => {
                if let Some(name) = &it.ident {
                    tell(name, &it.attrs);
                }
            }
            Item::Mod(it) => {
                if let Some((_, within)) = &it.content {
                    tell(&it.ident, &it.attrs);
                    items_of(path, around, &it.ident, within);
                }
            }
            Item::Trait(it) => {
                tell(&it.ident, &it.attrs);
                let around = format!("{around}{}::", it.ident);
                for item in &it.items {
                    if let TraitItem::Fn(it) = item {
                        self::tell(path, &around, &it.sig.ident.to_string(), &it.attrs, item);
                    }
                }
            }
            Item::Impl(it) => {
                let Type::Path(of) = &*it.self_ty else { continue };
                let Some(of) = of.path.segments.last() else { continue };
                let around = format!("{around}{}::", of.ident);
                for item in &it.items {
                    if let ImplItem::Fn(it) = item {
                        self::tell(path, &around, &it.sig.ident.to_string(), &it.attrs, item);
                    }
                }
            }
            _ => {}
        }
    }
}

fn items_of(path: &str, around: &str, name: &syn::Ident, within: &[Item]) {
    items(path, &format!("{around}{name}::"), within);
}
