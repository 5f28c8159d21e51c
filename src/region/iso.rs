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
