use super::*;

const ONE: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const TWO: &str = "445536BCD2513298075A5D379663C962";

fn secret(digits: &str) -> Secret {
    Secret::new(u128::from_str_radix(digits, 16).unwrap().to_be_bytes())
}

fn dir_with(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), text).unwrap();
    fs::set_permissions(dir.path().join(FILE), fs::Permissions::from_mode(0o600)).unwrap();
    dir
}

fn kept(dir: &Path) -> Key {
    open(dir, Access::Kept(None)).unwrap()
}

#[test]
fn a_secret_is_made_when_there_is_none_and_read_the_next_time() {
    let dir = tempfile::tempdir().unwrap();
    let made = kept(dir.path());
    assert!(made.warning.is_none());
    let path = dir.path().join(FILE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(made.secrets.unwrap().first, secret(text.trim_end()));
    assert_eq!(kept(dir.path()).secrets, made.secrets);
    let other = tempfile::tempdir().unwrap();
    assert_ne!(kept(other.path()).secrets, made.secrets, "drawn, not computed");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_first_line_makes_cookies_and_the_second_verifies_too() {
    for (text, second) in [
        (format!("{ONE}\n"), None),
        (ONE.to_owned(), None),
        (format!("{ONE}\n{TWO}\n"), Some(secret(TWO))),
        (format!("{ONE}\r\n\r\n{TWO}  \r\n\n"), Some(secret(TWO))),
    ] {
        let key = kept(dir_with(&text).path());
        assert_eq!(key.secrets, Some(Secrets { first: secret(ONE), second }), "{text:?}");
        assert!(key.warning.is_none());
    }
}

#[test]
fn a_malformed_file_is_refused_with_its_place_and_without_what_it_holds() {
    for (text, place, says) in [
        (String::new(), "1:1", "holds no secret"),
        ("\n\n".to_owned(), "1:1", "holds no secret"),
        (ONE[1..].to_owned(), "1:1", "32 hexadecimal digits, this one 31"),
        (format!("{ONE}0"), "1:1", "32 hexadecimal digits, this one 33"),
        (format!("{ONE}\n\n{}x{}", &ONE[..4], &ONE[5..]), "3:5", "no hexadecimal digit"),
        (format!("+{}", &ONE[1..]), "1:1", "no hexadecimal digit"),
        (format!(" {ONE}"), "1:1", "no hexadecimal digit"),
        (format!("{ONE}\n{TWO}\n{ONE}\n"), "3:1", "a third secret"),
    ] {
        let dir = dir_with(&text);
        for access in [Access::Kept(None), Access::Checked] {
            let error = open(dir.path(), access).unwrap_err().to_string();
            assert!(error.contains(&format!("cookie.key:{place}: error: ")), "{error}");
            assert!(error.contains(says) && error.contains("\n  hint: "), "{error}");
            assert!(!error.contains(&ONE[5..12]), "{error}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_malformed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), [0xff; 16]).unwrap();
    assert!(open(dir.path(), Access::Kept(None)).is_err());
}

#[test]
fn a_folder_that_can_not_be_written_means_a_secret_in_memory_and_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone");
    let first = kept(&gone);
    assert!(first.secrets.is_some() && first.warning.unwrap().contains("cannot make"));
    let again = open(&gone, Access::Kept(first.secrets)).unwrap();
    assert_eq!(again.secrets, first.secrets, "the next reload keeps it");
}

#[test]
fn a_file_that_can_not_be_read_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(FILE)).unwrap();
    let in_use = Secrets { first: secret(ONE), second: Some(secret(TWO)) };
    let key = open(dir.path(), Access::Kept(Some(in_use))).unwrap();
    assert_eq!(key.secrets, Some(in_use));
    assert!(key.warning.unwrap().contains("cannot read"));
}

#[test]
fn a_file_that_is_away_during_a_reload_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mount = dir.path().join("mount");
    fs::write(&mount, format!("{ONE}\n")).unwrap();
    std::os::unix::fs::symlink(&mount, dir.path().join(FILE)).unwrap();
    let first = kept(dir.path());
    fs::rename(&mount, dir.path().join("elsewhere")).unwrap();
    let away = open(dir.path(), Access::Kept(first.secrets)).unwrap();
    assert_eq!(away.secrets, first.secrets);
    assert!(away.warning.unwrap().contains("cannot read"));
    let started_without = kept(dir.path());
    assert!(started_without.warning.unwrap().contains("cannot read"), "nor at a start");
    fs::rename(dir.path().join("elsewhere"), &mount).unwrap();
    assert_eq!(kept(dir.path()).secrets, first.secrets);
}

#[test]
fn a_secret_that_others_may_read_is_a_warning() {
    let dir = dir_with(ONE);
    fs::set_permissions(dir.path().join(FILE), fs::Permissions::from_mode(0o644)).unwrap();
    let warning = kept(dir.path()).warning.unwrap();
    assert!(warning.contains("(mode 0644): chmod 600 "), "{warning}");
}

#[test]
fn looking_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for access in [Access::Untouched, Access::Checked] {
        assert!(open(dir.path(), access).unwrap().secrets.is_none());
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
