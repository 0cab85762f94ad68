//! The part of HTTP/1.1 that is understood: a request line and header fields within limits, and nothing else
//! [rfc9112http, Section 3].

/// Longer heads are refused.
pub const LONGEST: usize = 8 << 10;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The page at this path; its body is left out for `HEAD`.
    Page { path: String, head: bool },
    /// Nothing that is given: the status and a sentence.
    Refused(u16, &'static str),
}

/// Whether the bytes so far hold the whole head.
pub fn is_complete(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|four| four == b"\r\n\r\n") || bytes.windows(2).any(|two| two == b"\n\n")
}

/// Reads a head. `hosts` are the names under which the page may be asked for: a page of somebody else, whose
/// name was made to point here, has another.
pub fn read(bytes: &[u8], hosts: &[String]) -> Wanted {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Wanted::Refused(400, "the request is no text");
    };
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return Wanted::Refused(400, "expected a method, a path and a version");
    };
    if !version.starts_with("HTTP/1.") {
        return Wanted::Refused(505, "expected HTTP/1.1");
    }
    let fields: Option<Vec<(&str, &str)>> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_once(':').map(|(name, value)| (name, value.trim())))
        .collect();
    let Some(fields) = fields else { return Wanted::Refused(400, "a header field has no colon") };
    let field = |wanted: &str| {
        let mut found = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| *value)
    };
    if field("content-length").is_some_and(|length| length != "0") || field("transfer-encoding").is_some() {
        return Wanted::Refused(413, "requests have no body here");
    }
    if !field("host").is_some_and(|host| hosts.iter().any(|known| known.eq_ignore_ascii_case(host))) {
        return Wanted::Refused(421, "this server is not known under that name");
    }
    match method {
        "GET" | "HEAD" => Wanted::Page { path: target.to_owned(), head: method == "HEAD" },
        _ => Wanted::Refused(405, "only GET and HEAD are understood"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(head: &str) -> Wanted {
        read(head.as_bytes(), &["127.0.0.1:80".into()])
    }

    #[test]
    fn ordinary_requests_are_understood() {
        let head = "GET /x/ HTTP/1.1\r\nAccept: */*\r\nhost: 127.0.0.1:80\r\n\r\n";
        assert!(is_complete(head.as_bytes()) && !is_complete(&head.as_bytes()[..head.len() - 1]));
        assert_eq!(ask(head), Wanted::Page { path: "/x/".into(), head: false });
        assert_eq!(ask(&head.replace("GET", "HEAD")), Wanted::Page { path: "/x/".into(), head: true });
    }

    #[test]
    fn everything_else_is_refused_with_a_status() {
        let host = "Host: 127.0.0.1:80\r\n";
        for (head, status) in [
            ("\r\n\r\n".to_owned(), 400),
            ("GET /\r\n\r\n".to_owned(), 400),
            (format!("GET / HTTP/1.1\r\nno colon here\r\n{host}\r\n"), 400),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 421),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 421),
            (format!("POST / HTTP/1.1\r\n{host}\r\n"), 405),
            (format!("GET / HTTP/2\r\n{host}\r\n"), 505),
            (format!("GET / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\n"), 413),
            (format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"), 413),
        ] {
            assert!(
                matches!(ask(&head), Wanted::Refused(found, _) if found == status),
                "{head:?}: {:?}",
                ask(&head)
            );
        }
        assert!(matches!(read(b"\xff\xfe", &[]), Wanted::Refused(400, _)));
    }
}
