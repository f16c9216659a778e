//! Certificates of the test's own: an authority, and servers that it vouches for, rightly or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

static AUTHORITIES: AtomicUsize = AtomicUsize::new(1);

/// An authority that nobody knows who is not told of it.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// Who a server says it is, and the key to it.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    with_http2: bool,
}

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // Two authorities of one name would be taken for one whose signature is wrong.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("Authority {number} of a test");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    /// Its certificate, as SSL_CERT_FILE and web.caFile take it.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A server with these names or addresses.
    pub fn identity(&self, names: &[&str]) -> Identity {
        self.sign(params(names))
    }

    /// The same, but it ended in 2001.
    pub fn expired(&self, names: &[&str]) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity::of(&certificate, &key)
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    CertificateParams::new(names).expect("names")
}

impl Identity {
    /// A server that vouches for itself.
    pub fn self_signed(names: &[&str]) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params(names).self_signed(&key).expect("a certificate");
        Identity::of(&certificate, &key)
    }

    /// The same server, which speaks HTTP/1.1 alone.
    pub fn without_http2(mut self) -> Identity {
        self.with_http2 = false;
        self
    }

    fn of(certificate: &Certificate, key: &KeyPair) -> Identity {
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            with_http2: true,
        }
    }

    /// The certificate and the key as files have them.
    pub fn pem(&self) -> (String, String) {
        let block = |label: &str, der: &[u8]| {
            let text = BASE64.encode(der);
            format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
        };
        let chain = self.chain.iter().map(|it| block("CERTIFICATE", it));
        (chain.collect(), block("PRIVATE KEY", self.key.secret_der()))
    }

    pub fn server_config(self) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder
            .with_safe_default_protocol_versions()
            .expect("versions");
        let config = builder
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key);
        let mut config = config.expect("the key is the certificate's");
        config.alpn_protocols = match self.with_http2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            false => vec![b"http/1.1".to_vec()],
        };
        Arc::new(config)
    }
}
