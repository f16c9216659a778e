//! From an address to what has it: where the name ends and a selector begins is told by asking for the longest name first.

use crate::protocol::{Refusal, RefusalKind, shortened};
use crate::view::{Selector, Target};
use crate::workspace::{FileType, InternalUrl, MAX_PATH_BYTES, measure, percent_decoded};

use super::super::super::fragment::Fragment;
use super::super::super::obtained::Lacking;
use super::super::super::scheme;
use super::super::super::target::{Located, TargetKind, mistyped};
use super::super::kind;
use super::client::{self, OfClient};
use super::{Given, GivenFile, GivenTarget, InternalAsk, InternalContext, Provider};

/// Places in an address at which a name may end that are looked at.
pub(super) const MAX_ENDS: usize = 8;
const MAX_SUGGESTIONS: usize = 3;

/// What a path string names that is an address of a provider's; `None` where it is none.
///
/// # Errors
///
/// `notFound` with near names, `badSelector` for what was meant as one, `badParams`; what the provider
/// refuses.
pub fn locate(target: &Target, context: &InternalContext) -> Result<Option<Located>, Refusal> {
    let written = target.as_written();
    let Some((scheme, provider, rest)) = scheme::provider_of(written, context.overlays) else {
        return Ok(None);
    };
    // Names are short, and only so much is looked at.
    if rest.len() > MAX_PATH_BYTES {
        return Err(not_found(written, Vec::new()));
    }
    let splits = match target {
        Target::Literal(..) => Vec::new(),
        Target::Spelled(_) => Selector::splits(written),
    };
    let lookup = Lookup {
        written,
        name_at: written.len() - rest.len(),
        shortest: splits.last().map_or(written.len(), |(end, _)| *end),
        ends_in_lines: splits.iter().any(|(_, selector)| selector.has_lines()),
        scheme,
        provider,
        context,
    };
    match target {
        Target::Literal(_, selector) => match lookup.at(written.len(), selector, How::default())? {
            Some(target_kind) => Ok(Some(located(target_kind, selector.clone()))),
            None => Err(lookup.refusal(written.len())),
        },
        Target::Spelled(_) => lookup.spelled().map(Some),
    }
}

/// How it is asked what has a name.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    /// What was shown of it is enough, whatever the selector asks for.
    pub(super) reads_on: bool,
    /// It is not shown to anybody.
    pub(super) is_probe: bool,
}

struct Lookup<'a> {
    written: &'a str,
    /// Where the name begins.
    name_at: usize,
    scheme: &'a str,
    /// Where the name ends if all that can be a selector is one.
    shortest: usize,
    /// What can be a selector asks for lines.
    ends_in_lines: bool,
    provider: &'static dyn Provider,
    context: &'a InternalContext<'a>,
}

impl Lookup<'_> {
    /// What has the name that ends here. An open document of that very URI goes first.
    fn at(&self, end: usize, selector: &Selector, how: How) -> Result<Option<TargetKind>, Refusal> {
        let Some(written) = self.written.get(self.name_at..end) else {
            return Ok(None);
        };
        let spelled = &self.written[..end];
        if let Some(overlay) = self.context.overlays.called(spelled) {
            return Ok(Some(TargetKind::InEditor(
                overlay.clone(),
                overlay.uri.clone(),
            )));
        }
        let name = self.name(written);
        let ask = InternalAsk {
            spelled,
            written,
            name: &name,
            selector,
            shortest: &self.written[self.name_at..self.shortest.min(end)],
            reads_on: how.reads_on || self.context.names_lines || selector.has_lines(),
            is_probe: how.is_probe,
        };
        let given = match self.of_client(&ask)? {
            OfClient::Given(given) => Some(*given),
            OfClient::NotItsOwn => self.provider.get(&ask, self.context)?,
            OfClient::Nothing => None,
        };
        Ok(given.map(|given| {
            let url = given.url().cloned();
            TargetKind::Internal(Box::new(GivenTarget {
                url: url.unwrap_or_else(|| InternalUrl::new(self.scheme, &name)),
                provider: self.provider,
                given,
            }))
        }))
    }

    /// The client goes before the provider.
    fn of_client(&self, ask: &InternalAsk) -> Result<OfClient, Refusal> {
        let uri = format!("{}://{}", self.scheme, ask.written);
        client::get(self.scheme, &uri, ask, self.context)
    }

    fn name(&self, written: &str) -> String {
        match self.provider.facts().decodes {
            true => String::from_utf8_lossy(&percent_decoded(written.as_bytes())).into_owned(),
            false => written.to_owned(),
        }
    }

    /// A name that has a colon of its own goes before a selector, and the longest tail that is one
    /// before a shorter: what has to be obtained is asked for by the shortest name.
    fn spelled(&self) -> Result<Located, Refusal> {
        let splits = Selector::splits(self.written);
        let whole = (self.written.len(), Selector::default());
        let (mut lacking, mut refused) = (None, None);
        for (end, selector) in std::iter::once(whole).chain(splits) {
            match self.at(end, &selector, How::default()) {
                Ok(None) => {}
                // What a server lists tells where a name ends.
                Ok(Some(target_kind)) if lacks_of_server(&target_kind) => {
                    return Ok(Located::found(target_kind, selector));
                }
                Ok(Some(target_kind)) if lacks(&target_kind) => {
                    lacking = Some((target_kind, selector))
                }
                Ok(Some(target_kind)) => return Ok(self.found(target_kind, end, selector)),
                // What is no part of the name may be a selector.
                Err(refusal) if is_miss(&refusal) => refused = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
        if let Some((target_kind, selector)) = lacking {
            return Ok(located(target_kind, selector));
        }
        if let Some(located) = self.in_part()? {
            return Ok(located);
        }
        // Of a name that is too long others say that there is none.
        if let Some(refusal) = refused.clone()
            && !self.is_of_others()
        {
            return Err(refusal);
        }
        if let Some(located) = self.within()? {
            return Ok(located);
        }
        match self.refuse_mistyped_selector()? {
            Some(lacking) => Ok(Located::found(lacking, Selector::default())),
            None => Err(refused.unwrap_or_else(|| self.refusal(self.shortest))),
        }
    }

    /// A part of a file, or of an open document, that has the name before a `#`. Nobody else is asked.
    fn in_part(&self) -> Result<Option<Located>, Refusal> {
        let splits = Fragment::splits(self.written);
        for (head, text) in splits.filter(|(head, _)| head.len() > self.name_at) {
            let is_open = self.context.overlays.called(head).is_some();
            if self.is_of_others() && !is_open {
                continue;
            }
            let at = |is_probe: bool| {
                let how = How {
                    reads_on: true,
                    is_probe,
                };
                self.at(head.len(), &Selector::default(), how)
            };
            let has_names = match at(true) {
                Ok(Some(TargetKind::InEditor(..))) => true,
                Ok(Some(TargetKind::Internal(target_kind))) => {
                    matches!(target_kind.given, Given::File(_))
                }
                Ok(_) => false,
                Err(refusal) if is_miss(&refusal) => false,
                Err(refusal) => return Err(refusal),
            };
            if has_names && let Some(target_kind) = at(false)? {
                let fragment = text
                    .parse()
                    .map_err(|error| mistyped(self.written, error))?;
                return Ok(Some(
                    located(target_kind, Selector::default()).in_part(fragment),
                ));
            }
        }
        Ok(None)
    }

    /// Whether the client or a server is asked for each name.
    fn is_of_others(&self) -> bool {
        let is_offered = self.context.overlays.offered.name(self.scheme).is_some();
        is_offered || self.provider.facts().names_hold_queries
    }

    /// Of an archive or a database what follows the name may be a way within it.
    fn found(&self, target_kind: TargetKind, end: usize, selector: Selector) -> Located {
        let tail = &self.written[end..];
        match leads_on(&target_kind, tail) {
            false => located(target_kind, selector),
            true => inside(target_kind, tail),
        }
    }

    /// What is within a file that has a shorter name. What others have to be asked for, to tell, comes
    /// back.
    fn within(&self) -> Result<Option<Located>, Refusal> {
        let ends = self.written.match_indices([':', '?']).map(|(at, _)| at);
        for end in ends.filter(|at| self.may_end(*at)).take(MAX_ENDS) {
            let at = |is_probe: bool| {
                let reads_on = self.ends_in_lines;
                let how = How { reads_on, is_probe };
                let target_kind = self.at(end, &Selector::default(), how)?;
                target_kind.ok_or_else(|| not_found(self.written, Vec::new()))
            };
            match on_into(at, &self.written[end..]) {
                Ok(Some(located)) => return Ok(Some(located)),
                Ok(None) => {}
                Err(Refusal::NotFound { .. }) => {}
                Err(refusal) if self.is_of_others() && is_answer(&refusal) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(None)
    }

    /// Whether a name may end before this character: not at the scheme of a URI within the address.
    fn may_end(&self, at: usize) -> bool {
        at >= self.name_at && !self.written[at..].starts_with("://")
    }

    /// What is there, followed by something that is no selector, was meant with one. What has to be
    /// obtained to tell comes back.
    fn refuse_mistyped_selector(&self) -> Result<Option<TargetKind>, Refusal> {
        for end in Selector::places(self.written, [b':'; 2]).take(4) {
            if !self.may_end(end) {
                continue;
            }
            let how = How {
                reads_on: true,
                is_probe: true,
            };
            match self.at(end, &Selector::default(), how) {
                Ok(None) => continue,
                Ok(Some(target_kind)) if lacks(&target_kind) => return Ok(Some(target_kind)),
                Ok(Some(_)) => {}
                Err(refusal) if self.is_of_others() && is_answer(&refusal) => continue,
                Err(refusal) => return Err(refusal),
            }
            return match Selector::parse(&self.written[end + 1..]) {
                Ok(_) => Ok(None),
                Err(error) => Err(Refusal::BadSelector {
                    path: Some(shortened(self.written).into_owned()),
                    message: error.to_string(),
                }),
            };
        }
        Ok(None)
    }

    /// That nothing has this name.
    fn refusal(&self, end: usize) -> Refusal {
        let rest = &self.written[self.name_at..];
        if rest.contains('?') && !self.provider.facts().names_hold_queries {
            let scheme = self.scheme;
            let message = match self.provider.facts().parameters {
                [] => format!("{scheme}:// takes no parameters; leave out what follows the '?'."),
                some => {
                    let list: Vec<String> = some.iter().map(|it| format!("?{it}=")).collect();
                    format!("{scheme}:// takes no parameters but {}.", list.join(", "))
                }
            };
            return Refusal::bad_params("path", message);
        }
        let asked = self.written.get(self.name_at..end).unwrap_or_default();
        let near = near_names(
            &self.name(asked),
            self.provider.names_like(&self.name(asked), self.context),
        );
        let near = near.iter().map(|name| format!("{}://{name}", self.scheme));
        not_found(self.written, near.collect())
    }
}

/// Whether a list is lacking, or a resource that is in one.
fn lacks_of_server(target_kind: &TargetKind) -> bool {
    let TargetKind::Internal(target_kind) = target_kind else {
        return false;
    };
    matches!(
        target_kind.given,
        Given::Lacks(Lacking::Catalogues(_) | Lacking::McpResource { .. })
    )
}

/// What is within something, where what follows its name leads on; or what has to be asked for to tell.
/// It is looked at (`true`) before it is taken.
pub(super) fn on_into(
    at: impl Fn(bool) -> Result<TargetKind, Refusal>,
    tail: &str,
) -> Result<Option<Located>, Refusal> {
    let target_kind = at(true)?;
    if is_of_client_or_server(&target_kind) {
        return Ok(Some(Located::found(target_kind, Selector::default())));
    }
    match leads_on(&target_kind, tail) {
        true => Ok(Some(inside(at(false)?, tail))),
        false => Ok(None),
    }
}

fn inside(target_kind: TargetKind, tail: &str) -> Located {
    Located {
        inner: Some(tail.to_owned()),
        ..located(target_kind, Selector::default())
    }
}

/// Whether the client or a server has to be asked for a resource first.
fn is_of_client_or_server(target_kind: &TargetKind) -> bool {
    let TargetKind::Internal(target_kind) = target_kind else {
        return false;
    };
    matches!(
        target_kind.given,
        Given::Lacks(Lacking::Client(_) | Lacking::McpResource { .. } | Lacking::Catalogues(_))
    )
}

/// Whether it is what somebody answered for a name, and not that nobody did.
fn is_answer(refusal: &Refusal) -> bool {
    matches!(
        refusal.kind(),
        RefusalKind::NotFound | RefusalKind::BadParams | RefusalKind::Io | RefusalKind::TooLarge
    )
}

/// Whether it says that nothing has such a name.
fn is_miss(refusal: &Refusal) -> bool {
    matches!(
        refusal.kind(),
        RefusalKind::NotFound | RefusalKind::BadParams
    )
}

/// With what is said above it.
pub(super) fn located(target_kind: TargetKind, selector: Selector) -> Located {
    let understood = match &target_kind {
        TargetKind::Internal(target_kind) => target_kind.given.notices().to_vec(),
        TargetKind::OnDisk(_) | TargetKind::InEditor(..) | TargetKind::Web(_) => Vec::new(),
    };
    Located {
        understood,
        ..Located::found(target_kind, selector)
    }
}

fn lacks(target_kind: &TargetKind) -> bool {
    matches!(target_kind, TargetKind::Internal(target_kind) if matches!(target_kind.given, Given::Lacks(_)))
}

/// Whether what follows a file's name leads on within it, as its name tells.
fn leads_on(target_kind: &TargetKind, tail: &str) -> bool {
    let TargetKind::Internal(target_kind) = target_kind else {
        return false;
    };
    let Given::File(file) = &target_kind.given else {
        return false;
    };
    let GivenFile { handle, .. } = &**file;
    if tail.is_empty() || handle.file_type() != FileType::Regular {
        return false;
    }
    let name = handle.real().as_path().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    kind::splits(&format!("{name}{tail}")).contains(&name.len())
}

fn not_found(written: &str, suggestions: Vec<String>) -> Refusal {
    Refusal::NotFound {
        path: shortened(written).into_owned(),
        suggestions,
    }
}

/// The names that may be meant, the nearest first.
fn near_names(asked: &str, names: Vec<String>) -> Vec<String> {
    let names = names.into_iter();
    let mut near: Vec<_> = names
        .filter_map(|name| Some((measure(asked, &name)?.0, name)))
        .collect();
    near.sort_unstable();
    near.dedup();
    let near = near.into_iter().map(|(_, name)| name);
    near.take(MAX_SUGGESTIONS).collect()
}
