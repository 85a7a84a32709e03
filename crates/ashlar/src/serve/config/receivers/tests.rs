use super::*;

#[derive(Deserialize)]
struct File {
    #[serde(default, deserialize_with = "one_or_more")]
    webhook: Vec<WebhookTable>,
    #[serde(default)]
    mail: MailTable,
}

fn parsed(text: &str) -> anyhow::Result<ReceiversConfig> {
    let File { webhook, mail } = toml::from_str(text)?;
    resolve(webhook, mail)
}

const WEBHOOK: &str = "url = 'https://example.org/x'\nsecret_file = '/s'\n";
const MAIL_TABLE: &str = "[mail]\nserver = 'm'\nfrom = 'a@b.c'\nto = 'd@e.f'\n";

#[test]
fn one_webhook_is_a_table_and_several_are_a_list() {
    let one = parsed(&format!("[webhook]\n{WEBHOOK}")).unwrap();
    assert_eq!((one.webhooks.len(), one.webhooks[0].name.as_str()), (1, "webhook"));
    assert_eq!(one.webhooks[0].wants.severity, Severity::Warning);
    let named = |name: &str| format!("[[webhook]]\nname = '{name}'\n{WEBHOOK}");
    let two = parsed(&(named("a") + &named("b"))).unwrap();
    assert_eq!(two.webhooks.len(), 2);
    let why = parsed(&(named("a") + &named("a"))).unwrap_err().to_string();
    assert!(why.contains("two webhooks have the name 'a'"), "{why}");
}

#[test]
fn what_is_missing_or_cannot_be_is_said_by_its_key() {
    let cases = [
        ("[webhook]\nname = 'a'\n".to_owned(), "has no url"),
        ("[webhook]\nurl = 'https://example.org'\n".to_owned(), "has no secret_file"),
        ("[webhook]\nurl = 'ftp://x'\nsecret_file = '/s'\n".to_owned(), "is no URL"),
        (format!("[webhook]\nname = 'mail'\n{WEBHOOK}"), "which mail has"),
        (format!("[webhook]\nkinds = ['boom']\n{WEBHOOK}"), "no kind 'boom'"),
        (format!("{MAIL_TABLE}user = 'u'\n"), "only one of user and password_file"),
        (
            format!("{MAIL_TABLE}tls = 'none'\nuser = 'u'\npassword_file = '/p'\n"),
            "for all to read",
        ),
        (MAIL_TABLE.replace("'m'", "'127.0.0.1:9'"), "the port goes into mail.port"),
        ("[mail]\nserver = 'm'\nfrom = 'nobody'\nto = 'a@b.c'\n".to_owned(), "is no address"),
    ];
    for (text, why) in cases {
        let said = format!("{:#}", parsed(&text).unwrap_err());
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn ports_follow_from_how_mail_is_encrypted() {
    let port = |tls: &str| parsed(&format!("{MAIL_TABLE}tls = '{tls}'\n")).unwrap().mail.unwrap();
    let ports = ["starttls", "tls", "none"].map(|tls| port(tls).port);
    assert_eq!(ports, [587, 465, 25]);
}
