//! Countries and continents (ISO 3166-1, and the continent each country lies on).

use std::fmt;

/// An ISO 3166-1 alpha-2 code in upper case, or XK (Kosovo), which is in use without being assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Country(pub [u8; 2]);

impl Country {
    /// The country of that code, in either letter case; `None` for a code that ISO 3166-1 does not assign (UK, EU).
    pub fn parse(code: &str) -> Option<Self> {
        let [first, second] = *code.as_bytes() else { return None };
        let country = Self([first.to_ascii_uppercase(), second.to_ascii_uppercase()]);
        country.continent().map(|_| country)
    }

    /// The continent it lies on, when a geo record does not say; `None` for a code that does not exist.
    ///
    /// Countries on two continents are put where geo databases put them: Russia in Europe, Türkiye in Asia.
    pub fn continent(self) -> Option<Continent> {
        let number = *CONTINENT_OF.get(cell(self.0)?)?;
        Continent::ALL.get(usize::from(number)).copied()
    }

    /// Every country, by code.
    pub fn all() -> impl Iterator<Item = Self> {
        let codes = (b'A'..=b'Z').flat_map(|first| (b'A'..=b'Z').map(move |second| Self([first, second])));
        codes.filter(|country| country.continent().is_some())
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", char::from(self.0[0]), char::from(self.0[1]))
    }
}

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

impl Continent {
    /// Every one, by code.
    pub const ALL: [Self; 7] = [
        Self::Africa,
        Self::Antarctica,
        Self::Asia,
        Self::Europe,
        Self::NorthAmerica,
        Self::Oceania,
        Self::SouthAmerica,
    ];

    /// The continent of that code (AF AN AS EU NA OC SA), in either letter case.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|continent| continent.code().eq_ignore_ascii_case(code))
    }

    /// Its two letters, as geo databases write them.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Africa => "AF",
            Self::Antarctica => "AN",
            Self::Asia => "AS",
            Self::Europe => "EU",
            Self::NorthAmerica => "NA",
            Self::Oceania => "OC",
            Self::SouthAmerica => "SA",
        }
    }
}

impl fmt::Display for Continent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The codes of each continent, in the order of [`Continent::ALL`].
const CODES: [&str; 7] = [
    "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA NE \
     NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
    "AQ BV GS HM TF",
    "AE AF AM AZ BD BH BN BT CC CN GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH \
     PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE",
    "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK \
     MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
    "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT \
     US VC VG VI",
    "AS AU CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
    "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
];

/// No country has this code.
const NOWHERE: u8 = u8::MAX;

/// The position in [`Continent::ALL`] of each pair of letters, AA first.
const CONTINENT_OF: [u8; 26 * 26] = continent_of();

const fn continent_of() -> [u8; 26 * 26] {
    let mut cells = [NOWHERE; 26 * 26];
    let mut number = 0;
    while number < CODES.len() {
        let codes = CODES[number].as_bytes();
        let mut at = 0;
        while at < codes.len() {
            if let Some(cell) = cell([codes[at], codes[at + 1]]) {
                cells[cell] = number as u8;
            }
            at += 3;
        }
        number += 1;
    }
    cells
}

/// The place of a code in [`CONTINENT_OF`]; `None` when these are not two upper-case letters.
const fn cell([first, second]: [u8; 2]) -> Option<usize> {
    if first.is_ascii_uppercase() && second.is_ascii_uppercase() {
        Some((first - b'A') as usize * 26 + (second - b'A') as usize)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_249_assigned_codes_and_kosovo_exist_each_once() {
        assert_eq!(Country::all().count(), 250);
        let listed: usize = CODES.iter().map(|codes| codes.split_whitespace().count()).sum();
        assert_eq!(listed, 250, "a code stands under two continents");
    }

    #[test]
    fn codes_that_iso_does_not_assign_do_not_exist() {
        for code in ["UK", "EU", "AP", "ZZ", "XX", "AN", "SU", "EN", "A1", "", "C", "CHN", "ÄÖ", "c\0"] {
            assert_eq!(Country::parse(code), None, "{code}");
        }
    }

    #[test]
    fn codes_are_read_in_either_letter_case_and_written_in_upper_case() {
        assert_eq!(Country::parse("cn").unwrap().to_string(), "CN");
        assert_eq!(Country::parse("Xk"), Some(Country(*b"XK")));
        for country in Country::all() {
            assert_eq!(Country::parse(&country.to_string()), Some(country));
        }
        assert_eq!(Continent::parse("as"), Some(Continent::Asia));
        assert_eq!(Continent::parse("AA"), None);
        for continent in Continent::ALL {
            assert_eq!(Continent::parse(&continent.to_string()), Some(continent));
        }
    }

    #[test]
    fn countries_lie_where_geo_databases_put_them() {
        let table = [
            ("CN", "AS"), ("TW", "AS"), ("NL", "EU"), ("RU", "EU"), ("TR", "AS"), ("CY", "EU"), ("XK", "EU"),
            ("US", "NA"), ("MX", "NA"), ("GL", "NA"), ("BR", "SA"), ("AU", "OC"), ("EG", "AF"), ("AQ", "AN"),
        ];
        for (country, continent) in table {
            assert_eq!(Country::parse(country).unwrap().continent().unwrap().code(), continent, "{country}");
        }
    }
}
