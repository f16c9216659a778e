//! For which paths a rule is, as people write it in front matter: globs relative to the workspace folder. A pattern is never run over more than one path at a time.

use globset::GlobBuilder;

/// Characters of one pattern; longer ones match nothing.
const MAX_CHARACTERS: usize = 500;

/// Whether one of these is for a path, which is relative and has no `..`.
pub fn any_is_for(globs: &[String], path: &str) -> bool {
    globs.iter().any(|glob| is_for(glob, path))
}

/// A pattern without a slash is for files in every folder (`*.ts`), and one of a folder for all that
/// is in it (`src/`, `src/api`).
fn is_for(glob: &str, path: &str) -> bool {
    let glob = glob.trim();
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let (glob, is_anchored) = match glob.strip_prefix('/') {
        Some(rest) => (rest, true),
        None => (glob, glob.trim_end_matches('/').contains('/')),
    };
    let glob = glob.trim_end_matches('/');
    if glob.is_empty() || glob.len() > MAX_CHARACTERS {
        return false;
    }
    let anywhere = if is_anchored { "" } else { "**/" };
    let matches = |pattern: String| {
        let built = GlobBuilder::new(&pattern).literal_separator(true).build();
        built.is_ok_and(|glob| glob.compile_matcher().is_match(path))
    };
    matches(format!("{anywhere}{glob}")) || matches(format!("{anywhere}{glob}/**"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_for_what_people_mean_by_them() {
        let path = "packages/api/x.ts";
        for glob in [
            "**/*.ts",
            "*.ts",
            "*.{js,ts}",
            "packages/**",
            "packages/",
            "packages",
            "api",
            "packages/api",
            "/packages/*/x.ts",
            "./packages/api/*.ts",
            "**",
            "*",
            "**/*",
        ] {
            assert!(is_for(glob, path), "{glob}");
        }
        for glob in [
            "*.js",
            "/x.ts",
            "packages/*.ts",
            "/api",
            "",
            "/",
            "x",
            "{",
            "[z-a]",
            "../**",
        ] {
            assert!(!is_for(glob, path), "{glob}");
        }
        assert!(!is_for(&"*".repeat(501), path));
        assert!(any_is_for(&["*.js".to_owned(), "*.ts".to_owned()], path));
        assert!(!any_is_for(&[], path));
    }
}
