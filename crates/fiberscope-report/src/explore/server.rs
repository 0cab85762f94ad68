//! A server for one page: at a path that nobody can guess, on this machine.
//!
//! There are no files behind it, so that there is no path that leads to one. A connection gets one answer and
//! a few seconds; more than a handful at once are turned away.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fiberscope::limit::Deadline;

use super::request::{LONGEST, Wanted, is_complete, read};

/// How long a client may take to ask, and to take in the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the server looks for clients.
const PAUSE: Duration = Duration::from_millis(20);
/// The most clients at once.
const CLIENTS: usize = 32;

/// A server, bound to its port.
pub struct Server {
    listener: TcpListener,
    at: SocketAddr,
    site: Arc<Site>,
}

/// What is served.
struct Site {
    path: String,
    hosts: Vec<String>,
    page: Vec<u8>,
    clients: AtomicUsize,
}

impl Server {
    /// A server for a page; port 0 is one that is free.
    pub fn bind(address: IpAddr, port: u16, page: Vec<u8>) -> anyhow::Result<Self> {
        let listener = match TcpListener::bind((address, port)) {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                bail!("port {port} of {address} is in use; choose another one, or none for one that is free")
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot listen at {address}, port {port}"));
            }
        };
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        let mut hosts = vec![at.to_string()];
        if address.is_loopback() || address.is_unspecified() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", at.port())));
        }
        let path = format!("/{}/", token()?);
        let site = Site { path, hosts, page, clients: AtomicUsize::new(0) };
        Ok(Server { listener, at, site: Arc::new(site) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.at.port()
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.at, self.site.path)
    }

    /// Serves until the time is up, or for ever.
    pub fn serve(&self, deadline: &Deadline) {
        while !deadline.is_past() {
            // Whatever a client does to its connection, the next one is served.
            match self.listener.accept() {
                Ok((stream, from)) => self.take(stream, from),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn take(&self, mut stream: TcpStream, from: SocketAddr) {
        let site = Arc::clone(&self.site);
        // An address of all interfaces has no name of its own that a client could use.
        let named =
            stream.local_addr().ok().filter(|_| self.at.ip().is_unspecified()).map(|at| at.to_string());
        let _ = stream.set_nonblocking(false);
        if site.clients.fetch_add(1, Ordering::AcqRel) >= CLIENTS {
            site.clients.fetch_sub(1, Ordering::AcqRel);
            let _ = stream.set_write_timeout(Some(PAUSE));
            let _ = stream.write_all(&refusal(503, "too many connections at once"));
            return;
        }
        let counted = Arc::clone(&site);
        let work = move || {
            site.answer(&mut stream, named);
            site.clients.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name(format!("client {from}")).spawn(work).is_err() {
            counted.clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Site {
    /// Reads one request and answers it. A client that is slow or gone is left alone.
    fn answer(&self, stream: &mut TcpStream, named: Option<String>) {
        let end = Instant::now() + PATIENCE;
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let response = match head(stream, end) {
            Ok(bytes) => {
                let hosts: Vec<String> = self.hosts.iter().cloned().chain(named).collect();
                self.response(&read(&bytes, &hosts))
            }
            Err(Some((status, sentence))) => refusal(status, sentence),
            Err(None) => return,
        };
        if stream.write_all(&response).is_ok() {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            drain(stream);
        }
    }

    fn response(&self, wanted: &Wanted) -> Vec<u8> {
        match wanted {
            Wanted::Refused(status, sentence) => refusal(*status, sentence),
            Wanted::Page { path, head } if same(path.split('?').next().unwrap_or_default(), &self.path) => {
                let mut bytes = headers(200, "text/html; charset=utf-8", self.page.len());
                if !head {
                    bytes.extend_from_slice(&self.page);
                }
                bytes
            }
            Wanted::Page { .. } => {
                refusal(404, "there is nothing here; open the address that fiberscope printed")
            }
        }
    }
}

/// The bytes of a request up to the empty line; nothing if the client went away.
fn head(stream: &mut TcpStream, end: Instant) -> Result<Vec<u8>, Option<(u16, &'static str)>> {
    let mut bytes = Vec::new();
    let mut part = [0u8; 1024];
    while !is_complete(&bytes) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Some((408, "the request took too long")));
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Some((408, "the request took too long")));
            }
            Err(_) => return Err(None),
        }
        if bytes.len() > LONGEST {
            return Err(Some((431, "the request is too long")));
        }
    }
    Ok(bytes)
}

/// Takes in what a client still sends, within limits, so that closing does not destroy the answer on its way.
fn drain(stream: &mut TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut part = [0u8; 4096];
    for _ in 0..64 {
        if !matches!(stream.read(&mut part), Ok(count) if count > 0) {
            return;
        }
    }
}

fn refusal(status: u16, sentence: &str) -> Vec<u8> {
    let text = format!("{sentence}\n");
    let mut bytes = headers(status, "text/plain; charset=utf-8", text.len());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn headers(status: u16, kind: &str, length: usize) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Service Unavailable",
    };
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// 128 random bits in hexadecimal digits.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two texts are equal, in a time that tells nothing of where they differ.
fn same(x: &str, y: &str) -> bool {
    x.len() == y.len() && x.bytes().zip(y.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Runs `client` with the address of a server for the page `hello`.
    fn with_server(client: impl FnOnce(SocketAddr, &str)) {
        let server = Server::bind(HERE, 0, b"hello".to_vec()).unwrap();
        let (at, path) = (server.at, server.site.path.clone());
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(&Deadline::after(Some(Duration::from_secs(3)))));
            client(at, &path);
        });
    }

    fn ask(at: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        let _ = stream.write_all(request);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn get(at: SocketAddr, path: &str) -> String {
        ask(at, format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())
    }

    #[test]
    fn the_page_is_served_at_its_path_only() {
        with_server(|at, path| {
            assert!(at.ip().is_loopback());
            let page = get(at, path);
            assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\nhello"), "{page}");
            assert!(get(at, &format!("{path}?x=1")).starts_with("HTTP/1.1 200"));
            let other = format!("/{}/", "0".repeat(32));
            for path in
                ["/", &other, &path[..path.len() - 1], "/../../etc/passwd", &format!("{path}../Cargo.toml")]
            {
                assert!(get(at, path).starts_with("HTTP/1.1 404"), "{path}");
            }
        });
    }

    #[test]
    fn strange_clients_do_no_harm() {
        with_server(|at, path| {
            // Gone at once, gone in the middle, and gone before the answer.
            drop(TcpStream::connect(at).unwrap());
            TcpStream::connect(at).unwrap().write_all(b"GET /").unwrap();
            let mut gone = TcpStream::connect(at).unwrap();
            gone.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
            drop(gone);
            assert!(ask(at, b"\x00\xff\r\n\r\n").starts_with("HTTP/1.1 400"));
            assert!(ask(at, &[b'a'; 3 * LONGEST]).starts_with("HTTP/1.1 431"));
            let post = format!("POST {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 9999999999\r\n\r\n");
            assert!(ask(at, post.as_bytes()).starts_with("HTTP/1.1 413"));
            let rebound = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n");
            assert!(ask(at, rebound.as_bytes()).starts_with("HTTP/1.1 421"));
            // More connections at once than are served, none of which says anything.
            let silent: Vec<_> = (0..CLIENTS + 8).filter_map(|_| TcpStream::connect(at).ok()).collect();
            drop(silent);
            let served = (0..100).any(|_| {
                std::thread::sleep(PAUSE);
                get(at, path).starts_with("HTTP/1.1 200")
            });
            assert!(served);
        });
    }

    #[test]
    fn a_port_in_use_is_named() {
        let server = Server::bind(HERE, 0, Vec::new()).unwrap();
        let error = Server::bind(HERE, server.port(), Vec::new()).err().unwrap().to_string();
        assert!(error.contains(&format!("port {} of 127.0.0.1 is in use", server.port())), "{error}");
    }

    #[test]
    fn paths_cannot_be_guessed() {
        let tokens: Vec<String> = (0..4).map(|_| token().unwrap()).collect();
        assert!(
            tokens.iter().all(|token| token.len() == 32) && tokens[0] != tokens[1] && tokens[2] != tokens[3]
        );
        assert!(same("ab", "ab") && !same("ab", "ac") && !same("ab", "abc"));
    }
}
