//! A small HTTP server whose answers a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use fiberscope_core::{Matrix, Network};
use serde_json::{Value, json};

/// What a client sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

/// What the server does with a request.
pub enum Reply {
    /// A status with further headers, and a body.
    Status(u16, &'static str, String),
    /// Nothing, until the client gives up.
    Silence,
    /// The end of the connection.
    Close,
}

impl Reply {
    pub fn ok(body: &Value) -> Self {
        Reply::Status(200, "", body.to_string())
    }
}

/// A running server and what it was asked.
pub struct Server {
    pub url: String,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server that replies as the function says; it is given the number of the request, from 0.
    pub fn start(reply: impl Fn(usize, &Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/model", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(request.clone());
                    seen.len() - 1
                };
                match reply(number, &request) {
                    Reply::Status(status, headers, body) => write(&mut stream, status, headers, &body),
                    Reply::Silence => silent.push(stream),
                    Reply::Close => {}
                }
            }
        });
        Server { url, requests }
    }

    /// A server that answers with the outputs of a function.
    pub fn of(inputs: usize, outputs: usize, f: impl Fn(&[f64]) -> Vec<f64> + Send + 'static) -> Self {
        Server::start(move |_, request| respond(inputs, outputs, request, &f))
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// The reply of an endpoint that computes this function.
pub fn respond(inputs: usize, outputs: usize, request: &Request, f: &dyn Fn(&[f64]) -> Vec<f64>) -> Reply {
    if request.method == "GET" {
        return Reply::ok(&hello(inputs, outputs));
    }
    let rows = points(&request.body);
    Reply::ok(&json!({"outputs": rows.iter().map(|x| f(x)).collect::<Vec<_>>()}))
}

pub fn hello(inputs: usize, outputs: usize) -> Value {
    json!({"format": "fiberscope-oracle", "version": 1, "inputs": inputs, "outputs": outputs})
}

/// The queries of a request.
pub fn points(body: &[u8]) -> Vec<Vec<f64>> {
    serde_json::from_value(serde_json::from_slice::<Value>(body).unwrap()["inputs"].clone()).unwrap()
}

/// A network as a function of one point.
pub fn function(network: Network) -> impl Fn(&[f64]) -> Vec<f64> + Send {
    move |x| {
        let points = Matrix::from_entries(1, x.len(), x.to_vec()).unwrap();
        network.evaluate_batch(&points).unwrap().into_entries()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let method = line.split(' ').next()?.to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, authorization, body })
}

fn write(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    // A client that has gone is its own test.
    let _ = stream.write_all(text.as_bytes());
}
