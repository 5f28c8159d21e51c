//! Master file text to entries of tokens (RFC 1035 5.1): lines, parentheses, quotes, escapes, comments.
//!
//! Every token keeps its line and column, and a fault spoils only the entry it stands in, so that all faults of a
//! file are found in one reading.

/// Longest part of a token that a message shows, in characters.
const MAX_EXCERPT_CHARS: usize = 40;

/// Which of the texts that a build reads: the position in its report.
pub(super) type SourceId = u32;

/// A place in a text: line and column in characters, both from 1; 0 for the text as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) source: SourceId,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The value that a `$GENERATE` at this place stood at.
    pub(super) generated: Option<u32>,
}

impl Spot {
    /// A text as a whole.
    pub(super) const fn whole(source: SourceId) -> Self {
        Self { source, line: 0, column: 0, generated: None }
    }
}

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) spot: Spot,
    pub(super) text: String,
    pub(super) hint: String,
}

impl Fault {
    pub(super) fn new(spot: Spot, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { spot, text: text.into(), hint: hint.into() }
    }
}

/// One word or quoted text, with its escapes as written. All escapes in it are well-formed, and it holds no control
/// character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    /// Without the quotes.
    pub(super) raw: &'t str,
    pub(super) quoted: bool,
    /// Nothing stood between it and the token before: `key="value"`.
    pub(super) glued: bool,
    pub(super) spot: Spot,
}

impl<'t> Token<'t> {
    /// What of it a message shows.
    pub(super) fn excerpt(&self) -> std::borrow::Cow<'t, str> {
        match self.raw.char_indices().nth(MAX_EXCERPT_CHARS) {
            None => self.raw.into(),
            Some((end, _)) => format!("{}…", self.raw.get(..end).unwrap_or_default()).into(),
        }
    }
}

/// One line, or several held together by parentheses. Has at least one token.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    /// It begins with white space: the owner is the one before.
    pub(super) indented: bool,
    pub(super) tokens: Vec<Token<'t>>,
    /// Where it ends.
    pub(super) end: Spot,
}

/// The entries of a text, in order.
#[derive(Debug)]
pub(super) struct Entries<'t> {
    text: &'t str,
    at: usize,
    spot: Spot,
}

impl<'t> Entries<'t> {
    /// A byte order mark before the first line is passed over.
    pub(super) fn new(text: &'t str, source: SourceId) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text, at: 0, spot: Spot { line: 1, column: 1, ..Spot::whole(source) } }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn bump(&mut self) {
        match self.peek() {
            None => {}
            Some('\n') => {
                self.at += 1;
                self.spot = Spot { line: self.spot.line + 1, column: 1, ..self.spot };
            }
            Some(other) => {
                self.at += other.len_utf8();
                self.spot.column += 1;
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|next| next != '\n') {
            self.bump();
        }
    }

    /// Reads to the end of an entry, also past a fault; gives the first.
    fn entry(&mut self) -> Result<Entry<'t>, Fault> {
        let mut entry = Entry {
            indented: matches!(self.peek(), Some(' ' | '\t')),
            tokens: Vec::new(),
            end: Spot::default(),
        };
        let mut open: Vec<Spot> = Vec::new();
        let mut fault = None;
        let mut spaced = true;
        loop {
            entry.end = self.spot;
            let Some(next) = self.peek() else { break };
            match next {
                '\n' => {
                    self.bump();
                    if open.is_empty() {
                        break;
                    }
                }
                ' ' | '\t' | '\r' => self.bump(),
                ';' => self.skip_comment(),
                '(' => {
                    open.push(self.spot);
                    self.bump();
                }
                ')' => {
                    if open.pop().is_none() {
                        fault.get_or_insert(Fault::new(self.spot, "a `)` that no `(` opened", ""));
                    }
                    self.bump();
                }
                _ => {
                    let token = if next == '"' { self.quoted(!spaced) } else { self.word(!spaced) };
                    match token {
                        Ok(token) => entry.tokens.push(token),
                        Err(found) => {
                            fault.get_or_insert(found);
                        }
                    }
                    spaced = false;
                    continue;
                }
            }
            spaced = true;
        }
        if let Some(&spot) = open.first() {
            fault.get_or_insert(Fault::new(
                spot,
                "a `(` that no `)` closes",
                "everything up to the end of the file was taken for this record",
            ));
        }
        fault.map_or(Ok(entry), Err)
    }

    /// A word: up to white space, a quote, a parenthesis, a comment.
    fn word(&mut self, glued: bool) -> Result<Token<'t>, Fault> {
        let (start, spot) = (self.at, self.spot);
        let mut fault = None;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | '"' | '(' | ')' | ';' => break,
                _ => self.character(next, &mut fault),
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        fault.map_or(Ok(Token { raw, quoted: false, glued, spot }), Err)
    }

    /// A text between quotes, on one line.
    fn quoted(&mut self, glued: bool) -> Result<Token<'t>, Fault> {
        let spot = self.spot;
        self.bump();
        let start = self.at;
        let mut fault = None;
        let raw = loop {
            match self.peek() {
                Some('"') => {
                    let raw = self.text.get(start..self.at).unwrap_or_default();
                    self.bump();
                    break raw;
                }
                None | Some('\n') => {
                    let hint = "put a `\"` at the end of the text; one that belongs to it is written \\\"";
                    return Err(Fault::new(spot, "a quote that is not closed on its line", hint));
                }
                Some('\r' | '\t') => self.bump(),
                Some(next) => self.character(next, &mut fault),
            }
        };
        fault.map_or(Ok(Token { raw, quoted: true, glued, spot }), Err)
    }

    /// One character of a token, or one escape (RFC 1035 5.1: `\X` and `\DDD`).
    fn character(&mut self, next: char, fault: &mut Option<Fault>) {
        let spot = self.spot;
        self.bump();
        if next.is_control() {
            let text = format!("a control character (U+{:04X})", u32::from(next));
            fault.get_or_insert(Fault::new(spot, text, "is this a text file? Write it as \\DDD, in decimal"));
        }
        if next == char::REPLACEMENT_CHARACTER {
            // What the file's reader puts in place of other bytes: in a text it would be served as it stands.
            let hint = "write it as \\DDD, its value in decimal, which serves the byte as it is (the é of Latin-1 is \\233), or \
                        have the whole file in UTF-8: `iconv -f latin1 -t utf-8`";
            fault.get_or_insert(Fault::new(spot, "a byte that is not UTF-8", hint));
        }
        if next != '\\' {
            return;
        }
        match self.peek() {
            Some('0'..='9') => {
                let mut value = 0;
                for _ in 0..3 {
                    let Some(digit) = self.peek().and_then(|digit| digit.to_digit(10)) else {
                        value = u32::MAX;
                        break;
                    };
                    value = value * 10 + digit;
                    self.bump();
                }
                if value > 255 {
                    fault.get_or_insert(Fault::new(
                        spot,
                        "an escape that is no byte",
                        "a backslash before a digit takes three digits, 000 to 255",
                    ));
                }
            }
            Some(escaped) if escaped.is_ascii() && !escaped.is_ascii_control() => self.bump(),
            _ => {
                fault.get_or_insert(Fault::new(spot, "a backslash that escapes nothing", ""));
            }
        }
    }
}

impl<'t> Iterator for Entries<'t> {
    type Item = Result<Entry<'t>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.text.len() {
            match self.entry() {
                Ok(entry) if entry.tokens.is_empty() => {}
                other => return Some(other),
            }
        }
        None
    }
}
