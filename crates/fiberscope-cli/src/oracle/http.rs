//! An endpoint that answers batches over HTTP.
//!
//! Failures that may pass (no connection, a timeout, 429 and 5xx) are tried again after pauses that
//! double, or that the server asks for; all others are final.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use fiberscope::extract::{Oracle, OracleError};
use fiberscope_core::Matrix;
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body};

use super::Patience;
use super::message::{Hello, excerpt, longest_answer, read_answer, read_hello, request};

/// The first pause before a failed request is repeated; the next ones double.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How an endpoint is to be treated.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The numbers of inputs and outputs, for endpoints that do not announce them.
    pub sizes: Option<(usize, usize)>,
    /// How often a failed request is repeated.
    pub retries: u32,
    /// The most queries per second.
    pub rate: Option<f64>,
    /// The bearer token.
    pub token: Option<String>,
}

/// An HTTP endpoint.
pub struct HttpOracle {
    url: String,
    agent: Agent,
    options: HttpOptions,
    hello: Hello,
    patience: Patience,
    /// The rate allows no request before.
    next: Option<Instant>,
    /// Whether there ever was an answer: before, a failing connection is more likely a wrong address than a
    /// bad moment.
    met: bool,
}

/// Why a request got no answer.
enum Failure {
    /// It may pass; the server may have said after what time.
    Passing(String, Option<Duration>),
    Final(String),
}

impl HttpOracle {
    /// Asks an endpoint for its sizes, unless they are given.
    pub fn connect(url: &str, options: HttpOptions, patience: Patience) -> Result<Self, OracleError> {
        url.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty())).ok_or_else(
            || OracleError(format!("{url}: expected an address such as http://localhost:8000/model")),
        )?;
        if !cfg!(feature = "https") && url.to_ascii_lowercase().starts_with("https:") {
            let text = "this build has no TLS: it was made without the feature `https` (or `full`)";
            return Err(OracleError(format!("{url}: {text}")));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("fiberscope/", env!("CARGO_PKG_VERSION")));
        // Servers are checked against the certificates of the system.
        #[cfg(feature = "https")]
        let config = {
            use ureq::tls::{RootCerts, TlsConfig};
            config.tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        };
        let (inputs, outputs) = options.sizes.unwrap_or((1, 1));
        let hello = Hello { inputs, outputs, classes: None, max_batch: None };
        let agent = config.build().into();
        let mut oracle =
            HttpOracle { url: url.to_owned(), agent, options, hello, patience, next: None, met: false };
        if oracle.options.sizes.is_none() {
            let answer = oracle.exchange(None, longest_answer(1, 1))?;
            oracle.hello = read_hello(&answer).map_err(|reason| {
                oracle.error(&format!(
                    "{reason}; --sizes INPUTS,OUTPUTS helps where an endpoint does not announce itself"
                ))
            })?;
        }
        Ok(oracle)
    }

    /// The most queries that the endpoint takes at once.
    pub fn max_batch(&self) -> Option<usize> {
        self.hello.max_batch
    }

    /// The number of classes if it answers classes.
    pub fn classes(&self) -> Option<usize> {
        self.hello.classes
    }

    fn error(&self, text: &str) -> OracleError {
        OracleError(format!("{}: {text}", self.url))
    }

    /// Sends a body, or asks without one, and tries again where that may help.
    fn exchange(&mut self, body: Option<&[u8]>, longest: usize) -> Result<Vec<u8>, OracleError> {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 0;
        loop {
            let (reason, asked) = match self.once(body, longest) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(reason)) => return Err(self.error(&reason)),
                Err(Failure::Passing(reason, asked)) => (reason, asked),
            };
            let wait = asked.unwrap_or(pause).min(LONGEST_PAUSE);
            let late = self.patience.deadline.left().is_some_and(|left| left <= wait);
            if attempt == self.options.retries || late {
                let times = if attempt == 0 { String::new() } else { format!(" ({} attempts)", attempt + 1) };
                let why = if late { "; the time limit leaves none for another attempt" } else { "" };
                return Err(self.error(&format!("{reason}{times}{why}")));
            }
            thread::sleep(wait);
            pause = (2 * pause).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }

    fn once(&mut self, body: Option<&[u8]>, longest: usize) -> Result<Vec<u8>, Failure> {
        let wait = self.patience.wait();
        let bearer = self.options.token.as_ref().map(|token| format!("Bearer {token}"));
        let sent = match body {
            Some(body) => {
                let mut request = self.agent.post(&self.url).config().timeout_global(Some(wait)).build();
                if let Some(bearer) = &bearer {
                    request = request.header("Authorization", bearer);
                }
                request.content_type("application/json").send(body)
            }
            None => {
                let mut request = self.agent.get(&self.url).config().timeout_global(Some(wait)).build();
                if let Some(bearer) = &bearer {
                    request = request.header("Authorization", bearer);
                }
                request.call()
            }
        };
        let mut response = sent.map_err(|error| self.judge(&error, wait))?;
        self.met = true;
        let status = response.status();
        if status.is_success() {
            let read = response.body_mut().with_config().limit(longest as u64).read_to_vec();
            return read.map_err(|error| self.judge(&error, wait));
        }
        Err(refusal(status, &mut response))
    }

    fn judge(&self, error: &ureq::Error, wait: Duration) -> Failure {
        match error {
            ureq::Error::Timeout(_) => {
                Failure::Passing(format!("no answer within {}", self.patience.in_words(wait)), None)
            }
            ureq::Error::BodyExceedsLimit(limit) => {
                Failure::Final(format!("the answer has more than {limit} bytes"))
            }
            ureq::Error::BadUri(_) | ureq::Error::Tls(_) | ureq::Error::Http(_) => {
                Failure::Final(error.to_string())
            }
            #[cfg(feature = "https")]
            ureq::Error::Rustls(_) => Failure::Final(error.to_string()),
            // What is wrong with a certificate stays wrong.
            ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Failure::Final(error.to_string())
            }
            _ if !self.met => Failure::Final(plain(error)),
            _ => Failure::Passing(plain(error), None),
        }
    }
}

/// What the system says, without our client's words.
fn plain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// What a status other than success means.
fn refusal(status: StatusCode, response: &mut Response<Body>) -> Failure {
    let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
    let after = header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let place = header("location").map_or(String::new(), |place| format!(" to {place}"));
    let body = response.body_mut().with_config().limit(1 << 16).read_to_vec().unwrap_or_default();
    let said = if body.trim_ascii().is_empty() { String::new() } else { format!(": {}", excerpt(&body)) };
    let text = format!("the server answers {status}{place}{said}");
    if status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error()
    {
        Failure::Passing(text, after)
    } else {
        Failure::Final(text)
    }
}

impl Oracle for HttpOracle {
    fn inputs(&self) -> usize {
        self.hello.inputs
    }

    fn outputs(&self) -> usize {
        self.hello.outputs
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        if let Some(rate) = self.options.rate {
            let now = Instant::now();
            let start = self.next.unwrap_or(now).max(now);
            thread::sleep(start - now);
            self.next = Some(start + Duration::from_secs_f64(points.rows() as f64 / rate));
        }
        let (rows, outputs) = (points.rows(), self.hello.outputs);
        let answer = self.exchange(Some(&request(points)), longest_answer(rows, outputs))?;
        read_answer(&answer, rows, outputs).map_err(|reason| self.error(&reason))
    }
}
