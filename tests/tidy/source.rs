//! Rust source as the rules read it: tokens with their places, comments and literals left out, tests marked.
//!
//! No syntax tree: a rule that a page of tokens can't tell is too clever for a tidiness check.

/// Words that begin an item; what begins otherwise (a field, a variant, a match arm) ends at a comma.
const ITEM_WORDS: [&str; 17] = [
    "pub",
    "fn",
    "mod",
    "use",
    "impl",
    "struct",
    "enum",
    "union",
    "const",
    "static",
    "type",
    "trait",
    "unsafe",
    "extern",
    "async",
    "macro_rules",
    "let",
];

/// One Rust file.
pub(crate) struct Source {
    /// From the project's root, with `/`.
    pub(crate) path: String,
    /// The lines as they stand.
    pub(crate) lines: Vec<String>,
    /// The code.
    pub(crate) tokens: Vec<Token>,
    /// Modules declared as `#[cfg(test)] mod NAME;`: their files are tests.
    pub(crate) test_modules: Vec<String>,
    test_lines: Vec<bool>,
}

/// A word, a number, `::`, a single other character, or `""` for any literal text.
pub(crate) struct Token {
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
    /// Whether it belongs to a test.
    pub(crate) test: bool,
    /// How many inline modules enclose it.
    pub(crate) mods: usize,
}

/// A path as written or imported; groups expanded, so that `use a::{b, c::d}` gives `a::b` and `a::c::d`.
pub(crate) struct Path {
    pub(crate) segments: Vec<String>,
    /// The position of its first token.
    pub(crate) at: usize,
    /// The line of its last segment.
    pub(crate) line: usize,
}

impl Source {
    /// Reads a file that is known by `path`.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let test_lines = vec![false; lines.len()];
        let mut source =
            Self { path: path.to_owned(), lines, tokens: lex(text), test_modules: Vec::new(), test_lines };
        source.count_inline_modules();
        source.mark_tests();
        source
    }

    /// Takes the whole file for a test.
    pub(crate) fn mark_all_test(&mut self) {
        self.tokens.iter_mut().for_each(|token| token.test = true);
        self.test_lines.fill(true);
    }

    /// The folder (or file) directly below `src`; `None` for the crate's roots and for files elsewhere.
    pub(crate) fn module(&self) -> Option<&str> {
        let below = self.path.strip_prefix("src/")?;
        let top = below.split('/').next()?;
        let name = top.strip_suffix(".rs").unwrap_or(top);
        (!matches!(name, "lib" | "main")).then_some(name)
    }

    /// How many modules the file lies deep: 1 for `src/dns/mod.rs`, 2 for `src/dns/wire.rs`.
    pub(crate) fn depth(&self) -> usize {
        let below = self.path.strip_prefix("src/").unwrap_or(&self.path);
        below.split('/').filter(|part| !matches!(*part, "mod.rs" | "lib.rs" | "main.rs")).count()
    }

    /// Lines that belong to no test.
    pub(crate) fn lines_without_tests(&self) -> usize {
        self.test_lines.iter().filter(|test| !**test).count()
    }

    /// The text of the token at `at`, or nothing.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// Whether the tokens from `at` on read so.
    pub(crate) fn reads(&self, at: usize, wanted: &[&str]) -> bool {
        wanted.iter().enumerate().all(|(offset, text)| self.text(at + offset) == *text)
    }

    /// The position of the bracket that closes the one at `open`; the last token when there is none.
    pub(crate) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len().saturating_sub(1)
    }

    /// Every path of the file, those of one segment too; fields and methods are none.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if self.begins_path(at) {
                at = self.read_path(at, at, &mut Vec::new(), &mut found).max(at + 1);
            } else {
                at += 1;
            }
        }
        found
    }

    fn begins_path(&self, at: usize) -> bool {
        if !is_word(self.text(at)) {
            return false;
        }
        let before = |back: usize| at.checked_sub(back).map_or("", |at| self.text(at));
        match before(1) {
            "." => before(2) == ".",
            "::" => !is_word(before(2)) && before(2) != ">",
            _ => true,
        }
    }

    /// Reads the (rest of a) path at `at` behind `prefix` and returns where it ends.
    fn read_path(&self, first: usize, at: usize, prefix: &mut Vec<String>, found: &mut Vec<Path>) -> usize {
        let kept = prefix.len();
        let mut at = at;
        let mut line = self.tokens[first].line;
        loop {
            if self.text(at) == "{" {
                at = self.read_group(first, at, prefix, found);
                break;
            }
            line = self.tokens.get(at).map_or(line, |token| token.line);
            prefix.push(self.text(at).to_owned());
            at += 1;
            let goes_on = is_word(self.text(at + 1)) || matches!(self.text(at + 1), "{" | "*");
            if self.text(at) != "::" || !goes_on {
                found.push(Path { segments: prefix.clone(), at: first, line });
                break;
            }
            at += 1;
        }
        if self.text(at) == "as" {
            at += 2;
        }
        prefix.truncate(kept);
        at
    }

    fn read_group(
        &self,
        first: usize,
        open: usize,
        prefix: &mut Vec<String>,
        found: &mut Vec<Path>,
    ) -> usize {
        let end = self.closing(open);
        let mut at = open + 1;
        while at < end {
            at = match self.text(at) {
                "," => at + 1,
                _ => self.read_path(first, at, prefix, found).max(at + 1),
            };
        }
        end + 1
    }

    fn count_inline_modules(&mut self) {
        let mut open: Vec<bool> = Vec::new();
        for at in 0..self.tokens.len() {
            self.tokens[at].mods = open.iter().filter(|module| **module).count();
            match self.text(at) {
                "{" => open.push(at >= 2 && self.text(at - 2) == "mod"),
                "}" => {
                    open.pop();
                }
                _ => {}
            }
        }
    }

    fn mark_tests(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            if self.reads(at, &["#", "!", "["]) && self.is_test_attribute(at + 2) {
                self.mark_all_test();
                return;
            }
            if self.reads(at, &["#", "["]) && self.is_test_attribute(at + 1) {
                let end = self.item_end(self.closing(at + 1) + 1);
                self.mark(at, end);
                at = end;
            }
            at += 1;
        }
    }

    /// Whether the attribute whose `[` is at `open` leaves what follows to tests alone.
    fn is_test_attribute(&self, open: usize) -> bool {
        if self.reads(open, &["[", "test", "]"]) || self.reads(open, &["[", "cfg", "(", "test", ")"]) {
            return true;
        }
        self.reads(open, &["[", "cfg", "(", "all", "("])
            && (open..self.closing(open)).any(|at| self.text(at) == "test" && self.text(at - 2) != "not")
    }

    /// The last token of the item that begins at `start`, its other attributes included.
    fn item_end(&self, start: usize) -> usize {
        let mut at = start;
        while self.reads(at, &["#", "["]) {
            at = self.closing(at + 1) + 1;
        }
        let is_item = ITEM_WORDS.contains(&self.text(at));
        while at < self.tokens.len() {
            match self.text(at) {
                "{" => return self.closing(at),
                ";" => return at,
                "," if !is_item => return at,
                "}" => return at - 1,
                "(" | "[" => at = self.closing(at),
                _ => {}
            }
            at += 1;
        }
        self.tokens.len().saturating_sub(1)
    }

    fn mark(&mut self, start: usize, end: usize) {
        for at in start..=end {
            if self.text(at) == "mod" && self.text(at + 2) == ";" {
                self.test_modules.push(self.text(at + 1).to_owned());
            }
            self.tokens[at].test = true;
        }
        let lines = self.tokens[start].line - 1..self.tokens[end].line;
        self.test_lines[lines].fill(true);
    }
}

/// Whether the token is an identifier or a keyword.
pub(crate) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_alphabetic())
}

fn lex(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, tokens: Vec::new() };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.skip_while(|c| c != '\n'),
            ('/', '*') => self.skip_block_comment(),
            ('"', _) => self.take_string(),
            ('\'', _) => self.take_quote(),
            (':', ':') => {
                self.push("::".to_owned());
                self.advance(2);
            }
            (c, _) if c.is_whitespace() => self.advance(1),
            (c, _) if c == '_' || c.is_alphanumeric() => self.take_word(),
            (c, _) => {
                self.push(c.to_string());
                self.advance(1);
            }
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            self.line += usize::from(self.peek(0) == '\n');
            self.at += 1;
        }
    }

    fn push(&mut self, text: String) {
        self.tokens.push(Token { text, line: self.line, test: false, mods: 0 });
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.at < self.chars.len() && wanted(self.peek(0)) {
            self.advance(1);
        }
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    self.advance(2);
                }
                ('*', '/') => {
                    depth -= 1;
                    self.advance(2);
                }
                _ => self.advance(1),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn take_word(&mut self) {
        let start = self.at;
        let line = self.line;
        self.skip_while(|c| c == '_' || c.is_alphanumeric());
        let word: String = self.chars[start..self.at].iter().collect();
        match word.as_str() {
            "r" | "br" | "cr" if self.begins_raw_string() => self.take_raw_string(),
            // A raw identifier: the word itself follows.
            "r" if self.peek(0) == '#' => self.advance(1),
            "b" | "c" if self.peek(0) == '"' => self.take_string(),
            "b" if self.peek(0) == '\'' => self.take_quote(),
            _ => self.tokens.push(Token { text: word, line, test: false, mods: 0 }),
        }
    }

    fn begins_raw_string(&self) -> bool {
        let hashes = (0..).take_while(|&ahead| self.peek(ahead) == '#').count();
        self.peek(hashes) == '"'
    }

    fn take_raw_string(&mut self) {
        self.push("\"\"".to_owned());
        let start = self.at;
        self.skip_while(|c| c == '#');
        let hashes = self.at - start;
        self.advance(1);
        while self.at < self.chars.len() {
            if self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#') {
                self.advance(1 + hashes);
                return;
            }
            self.advance(1);
        }
    }

    fn take_string(&mut self) {
        self.push("\"\"".to_owned());
        self.advance(1);
        while self.at < self.chars.len() && self.peek(0) != '"' {
            self.advance(if self.peek(0) == '\\' { 2 } else { 1 });
        }
        self.advance(1);
    }

    /// A character, or a lifetime, which leaves no token.
    fn take_quote(&mut self) {
        if self.peek(1) == '\\' {
            self.push("\"\"".to_owned());
            self.advance(3);
            self.skip_while(|c| c != '\'');
            self.advance(1);
        } else if self.peek(2) == '\'' {
            self.push("\"\"".to_owned());
            self.advance(3);
        } else {
            self.advance(1);
            self.skip_while(|c| c == '_' || c.is_alphanumeric());
        }
    }
}
