//! `agent/credential`, which we ask the client for a login of the user's that it has.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tower_lsp::ls_types::request::Request;

use crate::github::{Credentials, Reason, Token};

use super::client::Client;

/// How long the client may take: it asks nobody.
const LIMIT: Duration = Duration::from_secs(5);

/// `agent/credential`.
enum CredentialQuestion {}

impl Request for CredentialQuestion {
    type Params = CredentialParams;
    type Result = Option<Credential>;
    const METHOD: &'static str = "agent/credential";
}

#[derive(Serialize, Deserialize)]
struct CredentialParams {
    service: String,
    host: String,
    /// `missing` or `refused`.
    reason: String,
}

/// It has no `Debug`: the token is printed nowhere.
#[derive(Serialize, Deserialize)]
struct Credential {
    token: String,
}

/// The logins that a client has.
pub struct ClientCredentials(pub Arc<Client>);

impl Credentials for ClientCredentials {
    fn offers(&self) -> bool {
        self.0.facts().credentials
    }

    fn ask(&self, host: String, reason: Reason) -> BoxFuture<'_, Option<Token>> {
        let reason = match reason {
            Reason::Missing => "missing",
            Reason::Refused => "refused",
        };
        let params = CredentialParams {
            service: "github".to_owned(),
            host,
            reason: reason.to_owned(),
        };
        async move {
            let asked = self.0.ask_or_cancel::<CredentialQuestion>(params);
            let answer = timeout(LIMIT, asked).await.ok()?.ok()??;
            Token::new(&answer.token)
        }
        .boxed()
    }
}
