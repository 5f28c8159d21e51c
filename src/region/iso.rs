//! Countries and continents (ISO 3166-1, and the continent each country lies on).

/// An ISO 3166-1 alpha-2 code in upper case (or XK).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Country(pub [u8; 2]);

/// A continent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Continent {
    Africa,
    Antarctica,
    Asia,
    Europe,
    NorthAmerica,
    Oceania,
    SouthAmerica,
}

impl Country {
    /// Stub: two letters.
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.to_ascii_uppercase().as_bytes().try_into().ok()?;
        (code.iter().all(u8::is_ascii_uppercase) && &code != b"XX" && &code != b"UK").then_some(Self(code))
    }
}

impl Continent {
    /// Stub: the continent of that code.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "AF" => Some(Self::Africa),
            "AN" => Some(Self::Antarctica),
            "AS" => Some(Self::Asia),
            "EU" => Some(Self::Europe),
            "NA" => Some(Self::NorthAmerica),
            "OC" => Some(Self::Oceania),
            "SA" => Some(Self::SouthAmerica),
            _ => None,
        }
    }
}
