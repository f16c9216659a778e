//! Whom TLS trusts, and what it says when it does not, in words of our own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};

use super::error::NetError;

/// How long roots are believed before they are read again.
const KEPT: Duration = Duration::from_secs(600);

/// Where systems keep their roots. Needed where the environment names others, which the platform's verifier takes in
/// their place.
#[cfg(all(unix, not(target_vendor = "apple")))]
const SYSTEM_ROOTS: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// The configurations that are made, kept for the connections to come.
#[derive(Debug, Default)]
pub(super) struct Tls {
    kept: Mutex<Option<KeptRoots>>,
}

#[derive(Debug)]
struct KeptRoots {
    ca_file: Option<String>,
    until: Instant,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// For connections whose other side is verified. Reads files, in one of tokio's threads for that.
    pub(super) async fn verified(
        &self,
        ca_file: Option<&str>,
    ) -> Result<Arc<ClientConfig>, NetError> {
        {
            let kept = self.kept.lock();
            let fits = |kept: &&KeptRoots| {
                kept.ca_file.as_deref() == ca_file && Instant::now() < kept.until
            };
            if let Some(kept) = kept.as_ref().filter(fits) {
                return Ok(kept.config.clone());
            }
        }
        let owned = ca_file.map(str::to_owned);
        let made = tokio::task::spawn_blocking({
            let ca_file = owned.clone();
            move || verified_by(ca_file.as_deref())
        });
        let config = Arc::new(made.await.map_err(|_| NetError::Internal)??);
        *self.kept.lock() = Some(KeptRoots {
            ca_file: owned,
            until: Instant::now() + KEPT,
            config: config.clone(),
        });
        Ok(config)
    }

    /// Reads the roots anew for the next connection: somebody was not trusted, and may be made so now.
    pub(super) fn forget(&self) {
        *self.kept.lock() = None;
    }
}

/// For a client that makes no TLS connection: it trusts nobody, and costs nothing.
pub(super) fn trusting_nobody() -> Result<ClientConfig, NetError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| NetError::Internal)?;
    Ok(builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn verified_by(ca_file: Option<&str>) -> Result<ClientConfig, NetError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut extra = Vec::new();
    if let Some(file) = ca_file {
        let setting = |message: String| NetError::Setting {
            message: format!("The file of the setting web.caFile, {file}, {message}."),
        };
        let found = certificates(Path::new(file))
            .map_err(|error| setting(format!("cannot be read: {error}")))?;
        if found.is_empty() {
            return Err(setting("has no certificate in it".to_owned()));
        }
        extra.extend(found);
    }
    extra.extend(beside_the_platform());
    let verifier =
        rustls_platform_verifier::Verifier::new_with_extra_roots(extra, provider.clone());
    let verifier = verifier.map_err(|_| NetError::Setting {
        message: "No certificates of this system are found, so no https address can be asked: SSL_CERT_FILE in the \
                  environment or the setting web.caFile names a file of them."
            .to_owned(),
    })?;
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| NetError::Internal)?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// What the platform's verifier leaves out: it takes the environment's roots in the place of the system's.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn beside_the_platform() -> Vec<CertificateDer<'static>> {
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
    if named.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut bundles = SYSTEM_ROOTS.iter().map(Path::new);
    let bundle = bundles.find_map(|bundle| certificates(bundle).ok());
    bundle.unwrap_or_default()
}

/// What the platform's verifier leaves out: it does not look at the environment.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn beside_the_platform() -> Vec<CertificateDer<'static>> {
    let named = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
    let found = named.map(|file| certificates(&file).unwrap_or_default());
    found.unwrap_or_default()
}

/// The certificates of a file that can be used as roots.
fn certificates(file: &Path) -> std::io::Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(file)?;
    let found = CertificateDer::pem_slice_iter(&text).flatten();
    let is_root = |certificate: &CertificateDer<'_>| {
        RootCertStore::empty()
            .add(certificate.clone().into_owned())
            .is_ok()
    };
    Ok(found
        .map(CertificateDer::into_owned)
        .filter(is_root)
        .collect())
}

/// Why a connection is not trusted, and whether a second try can help.
pub(super) fn words(error: &rustls::Error) -> String {
    use rustls::Error;
    let text = match error {
        Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            CertificateError::Revoked => "its certificate has been revoked",
            CertificateError::UnknownIssuer => {
                "the issuer of its certificate is unknown; SSL_CERT_FILE in the environment, or the setting web.caFile, \
                 names a file of issuers to trust"
            }
            CertificateError::Other(other) => return other_words(other),
            _ => "its certificate cannot be verified",
        },
        Error::NoCertificatesPresented => "it presents no certificate",
        Error::PeerIncompatible(_) | Error::AlertReceived(_) => {
            "it does not agree on TLS 1.2 or 1.3 with any cipher known here"
        }
        Error::InvalidMessage(_) => "it does not speak TLS there",
        _ => "the TLS handshake failed",
    };
    text.to_owned()
}

/// Of the webpki's own errors one is met in practice: who signs for himself.
fn other_words(other: &rustls::OtherError) -> String {
    match other.to_string().contains("CaUsedAsEndEntity") {
        true => "its certificate is signed by itself; SSL_CERT_FILE in the environment, or the setting web.caFile, names a \
                 file of issuers to trust"
            .to_owned(),
        false => "its certificate cannot be verified".to_owned(),
    }
}
