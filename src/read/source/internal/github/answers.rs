//! GitHub's answers, as far as something of them is shown. What is missing or of another type is as if it was not there.

use serde_json::Value;

use super::super::one_line;

/// A member of an answer as one harmless line; empty where there is none.
pub fn text(of: &Value) -> String {
    one_line(of.as_str().unwrap_or_default())
}

/// `@login` of a user; a user that is gone is `@ghost`, as on GitHub.
pub fn login(user: &Value) -> String {
    match text(&user["login"]) {
        name if name.is_empty() => "@ghost".to_owned(),
        name => format!("@{name}"),
    }
}

/// `2026-11-03` of a time.
pub fn day(time: &Value) -> String {
    let written = text(time);
    written.get(..10).unwrap_or_default().to_owned()
}

/// `2026-11-03 09:00`, in UTC as GitHub sends it.
pub fn minute(time: &Value) -> String {
    let written = text(time);
    match (written.get(..10), written.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute}"),
        _ => written,
    }
}

/// Nanoseconds since 1970 of `2026-11-03T09:00:00Z`.
pub fn nanoseconds(time: &Value) -> Option<i128> {
    let written = time.as_str()?;
    let number = |from: usize, to: usize| written.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Days since 1970, by the calendar that begins a year in March.
    let (year, month) = match month {
        ..=2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 306 + 5) / 10
        + (day - 1)
        - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(i128::from(seconds) * 1_000_000_000)
}

/// The names of labels.
pub fn labels(item: &Value) -> String {
    let labels = item["labels"].as_array();
    let names = labels.into_iter().flatten().map(|label| match label {
        Value::String(_) => text(label),
        label => text(&label["name"]),
    });
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    names.join(", ")
}

/// Where a browser shows it.
pub fn browser_url(item: &Value) -> String {
    text(&item["html_url"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read() {
        let seconds = |written: &str| nanoseconds(&json!(written)).map(|it| it / 1_000_000_000);
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T12:00:00Z"), Some(951_825_600));
        assert_eq!(seconds("2026-11-23T06:30:00Z"), Some(1_795_415_400));
        assert_eq!(seconds("soon"), None);
        assert_eq!(minute(&json!("2026-11-03T09:00:59Z")), "2026-11-03 09:00");
    }
}
