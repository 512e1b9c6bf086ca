//! Certificates: one's own, or one that is made here and known by its fingerprint. Knows no requests.

use crate::private;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, ServerConfig,
    SignatureScheme, StreamOwned,
};
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// What is wrong with a certificate, and the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

fn failed(what: impl fmt::Display, why: impl fmt::Display) -> TlsError {
    TlsError(format!("{what}: {why}"))
}

/// The SHA-256 digest of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Fingerprint {
        let hash = ring_digest(certificate.as_ref());
        Fingerprint(hash)
    }
}

fn ring_digest(bytes: &[u8]) -> [u8; 32] {
    // SHA-256 is in there already: no further crate for one digest.
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let hash = suite
        .tls13()
        .expect("a suite of TLS 1.3")
        .common
        .hash_provider;
    let mut digest = [0; 32];
    digest.copy_from_slice(hash.hash(bytes).as_ref());
    digest
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Fingerprint, TlsError> {
        let wrong = || {
            let cure = "give the 64 hexadecimal digits that the server printed, as in sha256:0a1b…";
            failed("this is no fingerprint", cure)
        };
        let digits: String = text
            .strip_prefix("sha256:")
            .unwrap_or(text)
            .replace(':', "");
        // In bytes that are hexadecimal digits: slicing below cannot cut a character in two.
        if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Fingerprint(bytes))
    }
}

/// A certificate with its key: what a server shows.
#[derive(Clone)]
pub struct Certificate {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.fingerprint)
    }
}

impl Certificate {
    /// The user's own, from two PEM files.
    ///
    /// # Errors
    /// If a file cannot be read, or they do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Certificate, TlsError> {
        let chain: Vec<CertificateDer<'static>> = (CertificateDer::pem_file_iter(certificate))
            .and_then(Iterator::collect)
            .map_err(|e| failed(certificate.display(), e))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| failed(key.display(), e))?;
        Certificate::new(chain, secret).map_err(|e| failed(certificate.display(), e))
    }

    /// One that signs itself, made at the first start and kept in `folder`, so that its fingerprint stays.
    ///
    /// # Errors
    /// If it cannot be made, kept or read.
    pub fn self_signed(folder: &Path, names: &[String]) -> Result<Certificate, TlsError> {
        const FILES: [&str; 2] = ["certificate.pem", "key.pem"];
        let trouble = |e: std::io::Error| failed(folder.display(), e);
        // Where one is missing both are made anew: they have to belong together.
        let is_there = FILES.iter().all(|name| folder.join(name).exists());
        if !is_there {
            private::folder(folder).map_err(trouble)?;
            let made = rcgen::generate_simple_self_signed(names.to_vec())
                .map_err(|e| failed("cannot make a certificate", e))?;
            // The key first: after a crash in between there is a key without a certificate, and both are
            // made anew.
            private::write(folder, FILES[1], &made.signing_key.serialize_pem()).map_err(trouble)?;
            private::write(folder, FILES[0], &made.cert.pem()).map_err(trouble)?;
        }
        Certificate::load(&folder.join(FILES[0]), &folder.join(FILES[1]))
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Certificate, TlsError> {
        let first = chain.first();
        let first = first.ok_or_else(|| TlsError("there is no certificate in it".to_owned()))?;
        let fingerprint = Fingerprint::of(first);
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| failed("TLS", e))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|e| TlsError(e.to_string()))?;
        // All that this server speaks.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Certificate {
            config: Arc::new(config),
            fingerprint,
        })
    }

    /// What others know it by.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Whom a client believes.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The authorities that browsers believe.
    #[default]
    Public,
    /// The certificate with this fingerprint, whatever it says, and no other.
    Pinned(Fingerprint),
    /// Authorities of one's own, in a PEM file.
    Authority(std::path::PathBuf),
}

impl Trust {
    /// TLS over a connection to a host of that name.
    ///
    /// # Errors
    /// If the other side does not show what is believed.
    pub fn connect<S: Read + Write>(
        &self,
        stream: S,
        host: &str,
    ) -> Result<impl Read + Write + use<S>, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|e| failed(host, e))?;
        let made = ClientConnection::new(self.config()?, name).map_err(|e| failed("TLS", e))?;
        let mut stream = StreamOwned::new(made, stream);
        // Now, so that a wrong certificate is told here and not by the first write.
        (stream.conn.complete_io(&mut stream.sock)).map_err(|e| failed(host, e))?;
        Ok(stream)
    }

    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| failed("TLS", e))?;
        let config = match self {
            Trust::Public => {
                let roots = webpki_roots::TLS_SERVER_ROOTS.to_vec();
                builder.with_root_certificates(RootCertStore { roots })
            }
            Trust::Authority(file) => {
                let wrong = |e: &dyn fmt::Display| failed(file.display(), e);
                let mut store = RootCertStore::empty();
                let all = CertificateDer::pem_file_iter(file).map_err(|e| wrong(&e))?;
                for certificate in all {
                    let certificate = certificate.map_err(|e| wrong(&e))?;
                    store.add(certificate).map_err(|e| wrong(&e))?;
                }
                builder.with_root_certificates(store)
            }
            Trust::Pinned(fingerprint) => {
                let pin = Pin {
                    fingerprint: *fingerprint,
                    provider: provider(),
                };
                // Names, dates and authorities are not asked: the fingerprint says more than any of them.
                (builder.dangerous()).with_custom_certificate_verifier(Arc::new(pin))
            }
        };
        Ok(Arc::new(config.with_no_client_auth()))
    }
}

/// Believes one certificate. That the other side has its key is checked as ever.
#[derive(Debug)]
struct Pin {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Fingerprint::of(certificate);
        // Fingerprints are no secret; in constant time all the same, so that nobody has to think about
        // it.
        match bool::from(shown.0.ct_eq(&self.fingerprint.0)) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(rustls::Error::General(format!(
                "the server's certificate has the fingerprint {shown}, not the one that was given"
            ))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        (self.provider.signature_verification_algorithms).supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_made_here_keeps_its_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned()];
        let first = Certificate::self_signed(folder.path(), &names).unwrap();
        let again = Certificate::self_signed(folder.path(), &names).unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        let text = first.fingerprint().to_string();
        assert_eq!(text.parse::<Fingerprint>().unwrap(), first.fingerprint());
        assert!("sha256:12".parse::<Fingerprint>().is_err());
        assert!("é".repeat(32).parse::<Fingerprint>().is_err());
    }

    #[test]
    fn sha256_is_what_others_call_so() {
        let digest = Fingerprint(ring_digest(b"abc")).to_string();
        assert!(digest.starts_with("sha256:ba7816bf8f01cfea"), "{digest}");
    }
}
