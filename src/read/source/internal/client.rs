//! What the client has: it is asked by the whole address before anybody of ours, for the schemes that it offers.

use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::session::Prior;

use super::super::super::obtained::{ClientAnswer, Lacking, Obtained};
use super::resource::{Answerer, Resource, is_changed};
use super::{Given, InternalAsk, InternalContext, Provider, ProviderFacts};

/// The provider of schemes that only the client has.
pub static CLIENT: ClientResources = ClientResources;

/// See the module. By itself it has nothing: the client was asked before it is.
#[derive(Debug)]
pub struct ClientResources;

impl Provider for ClientResources {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "client",
            what: "a text of the client's",
            is_elsewhere: true,
            decodes: false,
            names_hold_queries: true,
            ..ProviderFacts::DEFAULT
        }
    }

    fn get(&self, _: &InternalAsk, _: &InternalContext) -> Result<Option<Given>, Refusal> {
        Ok(None)
    }
}

/// What the client has of an address.
pub enum OfClient {
    Given(Box<Given>),
    /// It says that it is not its own, or does not offer the scheme: whoever else has it is asked.
    NotItsOwn,
    /// It says that there is none.
    Nothing,
}

/// What the client has of `uri`, or that it has to be asked.
///
/// # Errors
///
/// What it answered in the place of a resource; `unsupported` where it waits for this very read.
pub fn get(
    scheme: &str,
    uri: &str,
    ask: &InternalAsk,
    context: &InternalContext,
) -> Result<OfClient, Refusal> {
    if context.overlays.offered.name(scheme).is_none() {
        return Ok(OfClient::NotItsOwn);
    }
    let answerer = |notices| Answerer {
        provider: CLIENT.facts().name,
        notices,
    };
    let shown: Prior<Resource> = context.kept.shown(context.session, uri);
    let answer = context.obtained.and_then(Obtained::resources);
    match answer.and_then(|it| it.of_client(uri)) {
        Some(ClientAnswer::Given(resource)) => {
            let notices = is_changed(&shown, resource, ask).into_iter().collect();
            if !ask.is_probe {
                context.kept.show(context.session, uri, resource.clone());
            }
            let given = resource.given(ask.spelled, answerer(notices), Cache::Miss, context)?;
            return Ok(OfClient::Given(Box::new(given)));
        }
        Some(ClientAnswer::NotItsOwn) => return Ok(OfClient::NotItsOwn),
        Some(ClientAnswer::Nothing) => return Ok(OfClient::Nothing),
        Some(ClientAnswer::Refused(refusal)) => return Err(refusal.clone()),
        None => {}
    }
    if let Prior::Kept(resource) = &shown
        && (ask.reads_on || resource.is_fresh())
    {
        let given = resource.given(ask.spelled, answerer(Vec::new()), Cache::Hit, context)?;
        return Ok(OfClient::Given(Box::new(given)));
    }
    if context.is_resolving {
        return Err(Refusal::Unsupported {
            message: format!(
                "'{}' is asked for while the client answers for another address, so the client is not asked.",
                ask.spelled
            ),
            path: Some(ask.spelled.to_owned()),
        });
    }
    let lacking = Lacking::Client(uri.to_owned());
    Ok(OfClient::Given(Box::new(Given::Lacks(lacking))))
}
