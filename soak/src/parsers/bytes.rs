//! Changes to bytes and texts, such as files suffer.

/// xorshift64*, for speed.
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// No input is longer.
pub const LONGEST: usize = 16 << 10;

const NUMBERS: &[&[u8]] = &[
    b"0",
    b"-0",
    b"1",
    b"-1",
    b"2",
    b"1.5",
    b"-0.0",
    b"1e308",
    b"1e999",
    b"-1e999",
    b"4.9e-324",
    b"1e-400",
    b"nan",
    b"inf",
    b"NaN",
    b"Infinity",
    b"9007199254740993",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551616",
    b"340282366920938463463374607431768211456",
    b"1/3",
    b"-7/2",
    b"1/0",
    b"00",
    b"0x10",
    b"+1",
    b"1_000",
    b".5",
    b"5.",
    b"1e",
    b"",
];

const SIZES: [u64; 12] =
    [0, 1, 2, 127, 128, 255, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX / 8, i64::MAX as u64, u64::MAX];

/// Changes the bytes in one place. `words` are those of the format.
pub fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&[u8]], text: bool, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let kind = random.below(if text { 14 } else { 9 });
    match kind {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
        2 if at < bytes.len() => bytes[at] = random.pick(b"\0\x01\x7f\x80\xff\n ,;()[]{}\"-.e0"),
        3 => {
            let end = at + random.below((bytes.len() - at).min(24) + 1);
            bytes.drain(at..end);
        }
        4 => {
            let size = random.pick(&SIZES);
            let length = (bytes.len() - at).min(random.pick(&[1, 2, 4, 8]));
            let size = if random.below(4) == 0 { size.to_be_bytes() } else { size.to_le_bytes() };
            bytes[at..at + length].copy_from_slice(&size[..length]);
        }
        5 => {
            let other = &seeds[random.below(seeds.len())];
            let start = random.below(other.len() + 1);
            let end = start + random.below((other.len() - start).min(200) + 1);
            let over = (at + random.below(end - start + 1)).min(bytes.len());
            bytes.splice(at..over, other[start..end].iter().copied());
        }
        6 => {
            let part = bytes[at..at + random.below((bytes.len() - at).min(40) + 1)].to_vec();
            let deep = if random.below(64) == 0 { 12 } else { 3 };
            let times = (LONGEST / (part.len() + 1)).min(1 << random.below(deep));
            let place = random.below(bytes.len() + 1);
            bytes.splice(place..place, part.repeat(times));
        }
        7 if random.below(4) == 0 => bytes.truncate(at),
        7 | 8 if !words.is_empty() => {
            let word = random.pick(words);
            let over = if random.below(2) == 0 { at } else { (at + word.len()).min(bytes.len()) };
            bytes.splice(at..over, word.iter().copied());
        }
        9..12 => number(bytes, at, random),
        12 => swap_lines(bytes, random),
        13 => exchange_words(bytes, at, words, random),
        _ => {}
    }
    bytes.truncate(LONGEST);
}

fn is_part_of_number(byte: &u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE/".contains(byte)
}

/// Replaces the first decimal number at or after `at`.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip) else { return };
    let length = bytes[start..].iter().take_while(|byte| is_part_of_number(byte)).count();
    if random.below(2) == 0 {
        bytes[start] = b'0' + random.below(10) as u8;
    } else {
        bytes.splice(start..start + length, random.pick(NUMBERS).iter().copied());
    }
}

/// Exchanges two lines.
fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let (i, j) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => lines.swap(i, j),
        1 => drop(lines.remove(i)),
        _ => lines.insert(j, lines[i]),
    }
    *bytes = lines.join(&b'\n');
}

/// Puts another word of the format where one stands.
fn exchange_words(bytes: &mut Vec<u8>, at: usize, words: &[&[u8]], random: &mut Random) {
    if words.is_empty() {
        return;
    }
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || *byte == b'-';
    let Some(start) = bytes[at..].iter().position(letter).map(|skip| at + skip) else { return };
    let length = bytes[start..].iter().take_while(|byte| letter(byte)).count();
    bytes.splice(start..start + length, random.pick(words).iter().copied());
}
