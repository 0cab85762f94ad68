//! Changes inside containers whose outside stays whole: members of archives, fields of protocol buffers,
//! headers with their length.

use std::io::{Cursor, Read};

use flate2::Crc;

use super::bytes::{LONGEST, Random, mutate};

/// How a format wraps its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// Bytes.
    Plain,
    /// A ZIP archive.
    Zip,
    /// A protocol buffer.
    Fields,
    /// 8 bytes of length, a JSON header, data.
    Header,
}

/// A file to start from, taken apart.
pub enum Seed {
    /// Names and contents of the members.
    Members(Vec<(String, Vec<u8>)>),
    /// The fields.
    Fields(Vec<Field>),
    /// Header and data.
    Header(Vec<u8>, Vec<u8>),
}

/// A field of a protocol buffer.
#[derive(Clone)]
pub enum Field {
    /// Tag and value.
    Varint(u64, u64),
    /// Tag and 4 or 8 bytes.
    Fixed(u64, Vec<u8>),
    /// Tag and contents.
    Bytes(u64, Vec<u8>),
    /// Tag and fields.
    Message(u64, Vec<Field>),
}

/// Takes a file apart, if its shape is whole.
pub fn apart(bytes: &[u8], shape: Shape) -> Option<Seed> {
    match shape {
        Shape::Text | Shape::Plain => None,
        Shape::Zip => {
            let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
            let mut members = Vec::new();
            for i in 0..archive.len() {
                let mut member = archive.by_index(i).ok()?;
                let mut contents = Vec::new();
                member.by_ref().take(LONGEST as u64).read_to_end(&mut contents).ok()?;
                let name = member.name().ok()?.into_owned();
                members.push((name, contents));
            }
            (!members.is_empty()).then_some(Seed::Members(members))
        }
        Shape::Fields => fields(bytes, 0).filter(|fields| !fields.is_empty()).map(Seed::Fields),
        Shape::Header => {
            let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
            let end = usize::try_from(length).ok()?.checked_add(8)?;
            Some(Seed::Header(bytes.get(8..end)?.to_vec(), bytes.get(end..)?.to_vec()))
        }
    }
}

/// The file with one thing inside it changed.
pub fn changed(seed: &Seed, words: &[&[u8]], random: &mut Random, out: &mut Vec<u8>) {
    out.clear();
    match seed {
        Seed::Members(members) => {
            let mut members = members.clone();
            let at = random.below(members.len());
            match random.below(12) {
                0 => drop(members.remove(at)),
                1 => members.push(members[at].clone()),
                2 => members[at].0 = members[random.below(members.len())].0.clone(),
                _ => {
                    let contents = &mut members[at].1;
                    let text = contents.len() < 300 && random.below(2) == 0;
                    let seeds = [contents.clone()];
                    mutate(contents, &seeds, words, text, random);
                }
            }
            archive(&members, out);
        }
        Seed::Fields(fields) => {
            let mut fields = fields.clone();
            change_fields(&mut fields, words, random);
            fields.iter().for_each(|field| write(field, out));
        }
        Seed::Header(header, data) => {
            let mut header = header.clone();
            for _ in 0..1 + random.below(2) {
                let seeds = [header.clone()];
                mutate(&mut header, &seeds, words, true, random);
            }
            out.extend((header.len() as u64).to_le_bytes());
            out.extend_from_slice(&header);
            out.extend_from_slice(data);
        }
    }
}

/// An archive of stored members with right checksums.
fn archive(members: &[(String, Vec<u8>)], out: &mut Vec<u8>) {
    let mut directory = Vec::new();
    for (name, contents) in members {
        let mut crc = Crc::new();
        crc.update(contents);
        let (size, start) = (contents.len() as u32, out.len() as u32);
        let mut common = Vec::with_capacity(26);
        for short in [20u16, 0, 0, 0, 0] {
            common.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), size, size] {
            common.extend(long.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend_from_slice(contents);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, count) = (out.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The fields of a message; bytes that read as fields are taken for a message.
fn fields(bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let tag = varint(bytes, &mut at)?;
        if tag >> 3 == 0 || tag >> 3 > 1000 {
            return None;
        }
        found.push(match tag & 7 {
            0 => Field::Varint(tag, varint(bytes, &mut at)?),
            kind @ (1 | 5) => {
                let end = at + if kind == 1 { 8 } else { 4 };
                let contents = bytes.get(at..end)?.to_vec();
                at = end;
                Field::Fixed(tag, contents)
            }
            2 => {
                let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
                let contents = bytes.get(at..at.checked_add(length)?)?;
                at += length;
                match fields(contents, depth + 1) {
                    Some(inner) if depth < 8 && !inner.is_empty() => Field::Message(tag, inner),
                    _ => Field::Bytes(tag, contents.to_vec()),
                }
            }
            _ => return None,
        });
    }
    Some(found)
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write(field: &Field, out: &mut Vec<u8>) {
    match field {
        Field::Varint(tag, value) => {
            write_varint(*tag, out);
            write_varint(*value, out);
        }
        Field::Fixed(tag, contents) => {
            write_varint(*tag, out);
            out.extend_from_slice(contents);
        }
        Field::Bytes(tag, contents) => {
            write_varint(*tag, out);
            write_varint(contents.len() as u64, out);
            out.extend_from_slice(contents);
        }
        Field::Message(tag, inner) => {
            let mut contents = Vec::new();
            inner.iter().for_each(|field| write(field, &mut contents));
            write_varint(*tag, out);
            write_varint(contents.len() as u64, out);
            out.extend(contents);
        }
    }
}

/// Goes down to some field and changes it or its neighbours.
fn change_fields(fields: &mut Vec<Field>, words: &[&[u8]], random: &mut Random) {
    if fields.is_empty() {
        return;
    }
    let at = random.below(fields.len());
    match (random.below(16), &mut fields[at]) {
        (0, _) => drop(fields.remove(at)),
        (1, field) => {
            let copy = field.clone();
            fields.push(copy);
        }
        (2, _) => {
            let other = random.below(fields.len());
            fields.swap(at, other);
        }
        (_, Field::Message(_, inner)) => change_fields(inner, words, random),
        (3, Field::Varint(tag, _) | Field::Fixed(tag, _) | Field::Bytes(tag, _)) => {
            *tag = (1 + random.below(24) as u64) << 3 | *tag & 7;
        }
        (_, Field::Varint(_, value)) => {
            *value = random.pick(&[0, 1, 2, 3, 7, 10, 11, 100, 1 << 31, 1 << 40, i64::MAX as u64, u64::MAX]);
        }
        (_, Field::Fixed(_, contents)) => {
            let i = random.below(contents.len());
            contents[i] = random.below(256) as u8;
        }
        (_, Field::Bytes(_, contents)) => {
            let seeds = [contents.clone()];
            let text = contents.iter().all(|byte| byte.is_ascii_graphic());
            mutate(contents, &seeds, words, text, random);
        }
    }
}
