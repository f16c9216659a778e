//! Reads the part of the query language that our `.scm` files use; what it cannot express is an error, never ignored.

use thiserror::Error;

/// Why a `.scm` file cannot be used, with the byte at which it fails.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    #[error("byte {0}: {1} was expected")]
    Expected(usize, &'static str),
    #[error("the grammar has no {0}")]
    Unknown(String),
    #[error("@{0} is none of the captures")]
    Capture(String),
    #[error("#{0} is not supported")]
    Predicate(String),
}

/// A node of a pattern, without alternatives: those are written out into several patterns.
#[derive(Debug, Clone, Default)]
pub(super) struct Pattern {
    /// `None` for `(_)`.
    pub kind: Option<String>,
    /// The field of the parent in which it stands.
    pub field: Option<String>,
    /// Whether it must be the first named child.
    pub first: bool,
    pub children: Vec<Pattern>,
    pub captures: Vec<String>,
    /// Of the whole pattern; only on its root.
    pub texts: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Open,
    Close,
    OpenList,
    CloseList,
    Anchor,
    Field(String),
    Capture(String),
    Predicate(String),
    Text(String),
    Name(String),
}

/// The patterns of a query, in order.
pub(super) fn patterns(query: &str) -> Result<Vec<Pattern>, QueryError> {
    let mut reader = TokenReader {
        tokens: tokens(query)?,
        next: 0,
    };
    let mut found = Vec::new();
    while reader.next < reader.tokens.len() {
        found.extend(reader.node()?);
    }
    Ok(found)
}

fn tokens(query: &str) -> Result<Vec<(usize, Token)>, QueryError> {
    let mut found = Vec::new();
    let mut rest = query.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let word = |rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
            let mut word = String::new();
            while let Some((_, c)) =
                rest.next_if(|(_, c)| c.is_alphanumeric() || "_-.?!".contains(*c))
            {
                word.push(c);
            }
            word
        };
        let token = match c {
            ';' => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
                continue;
            }
            c if c.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            '[' => Token::OpenList,
            ']' => Token::CloseList,
            '.' => Token::Anchor,
            '@' => Token::Capture(word(&mut rest)),
            '#' => Token::Predicate(word(&mut rest)),
            '"' => {
                let mut text = String::new();
                while let Some((_, c)) = rest.next_if(|(_, c)| *c != '"') {
                    text.push(c);
                }
                rest.next();
                Token::Text(text)
            }
            c if c.is_alphabetic() || c == '_' => {
                let name = format!("{c}{}", word(&mut rest));
                match rest.next_if(|(_, c)| *c == ':') {
                    Some(_) => Token::Field(name),
                    None => Token::Name(name),
                }
            }
            _ => return Err(QueryError::Expected(at, "a pattern")),
        };
        found.push((at, token));
    }
    Ok(found)
}

struct TokenReader {
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl TokenReader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next += 1;
        token
    }

    fn expected<T>(&self, what: &'static str) -> Result<T, QueryError> {
        let at = self.tokens.get(self.next.saturating_sub(1));
        Err(QueryError::Expected(at.map_or(0, |(at, _)| *at), what))
    }

    /// A node, a list of alternatives or a group with predicates, with the captures behind it.
    fn node(&mut self) -> Result<Vec<Pattern>, QueryError> {
        let mut found = match self.take() {
            Some(Token::OpenList) => self.alternatives()?,
            Some(Token::Open) => match self.take() {
                Some(Token::Name(kind)) => self.inside(kind)?,
                Some(Token::Open | Token::OpenList) => {
                    self.next -= 1;
                    self.group()?
                }
                _ => return self.expected("a kind of node"),
            },
            _ => return self.expected("a node"),
        };
        while let Some(Token::Capture(name)) = self.peek().cloned() {
            self.next += 1;
            for pattern in &mut found {
                pattern.captures.push(name.clone());
            }
        }
        Ok(found)
    }

    fn alternatives(&mut self) -> Result<Vec<Pattern>, QueryError> {
        let mut found = Vec::new();
        while self.peek() != Some(&Token::CloseList) {
            found.extend(self.node()?);
        }
        self.next += 1;
        Ok(found)
    }

    /// What stands in `(kind …)`, after the kind.
    fn inside(&mut self, kind: String) -> Result<Vec<Pattern>, QueryError> {
        let mut found = vec![Pattern {
            kind: (kind != "_").then_some(kind),
            ..Pattern::default()
        }];
        let mut first = false;
        let mut field = None;
        loop {
            match self.peek().cloned() {
                Some(Token::Close) => break,
                Some(Token::Anchor) => first = true,
                Some(Token::Field(name)) => field = Some(name),
                Some(_) => {
                    let children = self.node()?;
                    found = with_children(found, children, field.take(), first);
                    first = false;
                    continue;
                }
                None => return self.expected("a closing parenthesis"),
            }
            self.next += 1;
        }
        self.next += 1;
        Ok(found)
    }

    /// `(pattern (#any-of? @_name "a" "b"))`
    fn group(&mut self) -> Result<Vec<Pattern>, QueryError> {
        let mut found = self.node()?;
        while self.peek() == Some(&Token::Open) {
            self.next += 1;
            match self.take() {
                Some(Token::Predicate(name)) if name == "any-of?" || name == "eq?" => {}
                Some(Token::Predicate(name)) => return Err(QueryError::Predicate(name)),
                _ => return self.expected("a predicate"),
            }
            let Some(Token::Capture(capture)) = self.take() else {
                return self.expected("a capture");
            };
            let mut texts = Vec::new();
            loop {
                match self.take() {
                    Some(Token::Text(text)) => texts.push(text),
                    Some(Token::Close) => break,
                    _ => return self.expected("a text"),
                }
            }
            for pattern in &mut found {
                pattern.texts.push((capture.clone(), texts.clone()));
            }
        }
        match self.take() {
            Some(Token::Close) => Ok(found),
            _ => self.expected("a closing parenthesis"),
        }
    }
}

/// Every parent with every one of the alternative children.
fn with_children(
    parents: Vec<Pattern>,
    children: Vec<Pattern>,
    field: Option<String>,
    first: bool,
) -> Vec<Pattern> {
    let mut found = Vec::with_capacity(parents.len() * children.len());
    for parent in parents {
        for child in &children {
            let mut parent = parent.clone();
            parent.children.push(Pattern {
                field: field.clone(),
                first,
                ..child.clone()
            });
            found.push(parent);
        }
    }
    found
}
