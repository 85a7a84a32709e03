//! The keys of webhooks and mail.

use super::{Config, Key, Usual};
use crate::serve::receivers::{MailConfig, WebhookConfig};

fn of_webhooks(config: &Config, value: fn(&WebhookConfig) -> String) -> String {
    config.receivers.webhooks.iter().map(value).collect::<Vec<_>>().join("; ")
}

fn of_mail(config: &Config, value: fn(&MailConfig) -> String) -> String {
    config.receivers.mail.as_ref().map(value).unwrap_or_default()
}

pub(super) const RECEIVERS: &[Key] = &[
    Key {
        name: "webhook.name",
        meaning: "What `ashlar notify` calls the webhook. Several webhooks are several tables \
                  [[webhook]], up to 16, each with a name of its own.",
        default: Usual::Value("\"webhook\""),
        range: "a name",
        example: "\"ops\"",
        reloads: false,
        value: |config| of_webhooks(config, |it| it.name.clone()),
    },
    Key {
        name: "webhook.url",
        meaning: "Where each event is sent, by POST as JSON. Redirections are not followed.",
        default: Usual::Words("none: a webhook needs it"),
        range: "a URL with http or https",
        example: "\"https://alerts.example.org/ashlar\"",
        reloads: false,
        value: |config| of_webhooks(config, |it| it.url.to_string()),
    },
    Key {
        name: "webhook.secret_file",
        meaning: "The file with what events are signed with (HMAC-SHA256, Standard Webhooks): \
                  whsec_ and base64, or a line of at least 16 bytes as it stands. It is read for \
                  each attempt.",
        default: Usual::Words("none: a webhook needs it"),
        range: "a whole path",
        example: "\"/etc/ashlar/ops.secret\"",
        reloads: false,
        value: |config| of_webhooks(config, |it| it.secret_file.display().to_string()),
    },
    Key {
        name: "webhook.severity",
        meaning: "Events that are at least as bad are sent.",
        default: Usual::Words("\"warning\", or \"info\" where kinds are named"),
        range: "\"info\", \"warning\" or \"error\"",
        example: "\"error\"",
        reloads: false,
        value: |config| of_webhooks(config, |it| format!("{:?}", it.wants.severity)),
    },
    Key {
        name: "webhook.kinds",
        meaning: "Only events of these kinds are sent. docs/events.md lists all.",
        default: Usual::Value("[]"),
        range: "a list of kinds; [] is all",
        example: "[\"drive_state\", \"pool_state_entered\"]",
        reloads: false,
        value: |config| of_webhooks(config, |it| it.wants.kinds.join(" ")),
    },
    Key {
        name: "webhook.timeout_seconds",
        meaning: "How long an attempt waits for its answer.",
        default: Usual::Value("10"),
        range: "1 to 120",
        example: "5",
        reloads: false,
        value: |config| of_webhooks(config, |it| it.timeout.as_secs().to_string()),
    },
    Key {
        name: "webhook.ca_file",
        meaning: "The certificates of the authorities that are believed, in PEM, instead of those \
                  of the machine.",
        default: Usual::Words("those of the machine"),
        range: "a whole path",
        example: "\"/etc/ashlar/ca.pem\"",
        reloads: false,
        value: |config| of_webhooks(config, |it| format!("{:?}", it.ca_file)),
    },
    Key {
        name: "mail.server",
        meaning: "The server that takes mail with events.",
        default: Usual::Words("none: mail needs it"),
        range: "a name or an address",
        example: "\"mail.example.org\"",
        reloads: false,
        value: |config| of_mail(config, |it| it.server.clone()),
    },
    Key {
        name: "mail.port",
        meaning: "Its port.",
        default: Usual::Words("587 with starttls, 465 with tls, 25 with none"),
        range: "1 to 65535",
        example: "2525",
        reloads: false,
        value: |config| of_mail(config, |it| it.port.to_string()),
    },
    Key {
        name: "mail.tls",
        meaning: "How the connection is encrypted: from STARTTLS on, from the first byte on, or \
                  not. With starttls and tls nothing is sent where that is not possible.",
        default: Usual::Value("\"starttls\""),
        range: "\"starttls\", \"tls\" or \"none\"",
        example: "\"tls\"",
        reloads: false,
        value: |config| of_mail(config, |it| it.tls.word().to_owned()),
    },
    Key {
        name: "mail.user",
        meaning: "Who the daemon is to the server. It needs password_file, and TLS.",
        default: Usual::Words("none: nobody logs in"),
        range: "a text",
        example: "\"ashlar\"",
        reloads: false,
        value: |config| of_mail(config, |it| format!("{:?}", it.login.as_ref().map(|it| &it.0))),
    },
    Key {
        name: "mail.password_file",
        meaning: "The file with the password. It is read for each attempt.",
        default: Usual::Words("none: nobody logs in"),
        range: "a whole path",
        example: "\"/etc/ashlar/mail.password\"",
        reloads: false,
        value: |config| of_mail(config, |it| format!("{:?}", it.login.as_ref().map(|it| &it.1))),
    },
    Key {
        name: "mail.from",
        meaning: "The address that mail comes from.",
        default: Usual::Words("none: mail needs it"),
        range: "an address of mail",
        example: "\"Ashlar <ashlar@example.org>\"",
        reloads: false,
        value: |config| of_mail(config, |it| it.from.to_string()),
    },
    Key {
        name: "mail.to",
        meaning: "To whom it goes.",
        default: Usual::Words("none: mail needs it"),
        range: "an address of mail, or a list of up to 16",
        example: "[\"storage@example.org\", \"oncall@example.org\"]",
        reloads: false,
        value: |config| of_mail(config, |it| format!("{:?}", it.to)),
    },
    Key {
        name: "mail.severity",
        meaning: "Events that are at least as bad are sent.",
        default: Usual::Words("\"warning\", or \"info\" where kinds are named"),
        range: "\"info\", \"warning\" or \"error\"",
        example: "\"error\"",
        reloads: false,
        value: |config| of_mail(config, |it| format!("{:?}", it.wants.severity)),
    },
    Key {
        name: "mail.kinds",
        meaning: "Only events of these kinds are sent.",
        default: Usual::Value("[]"),
        range: "a list of kinds; [] is all",
        example: "[\"drive_state\"]",
        reloads: false,
        value: |config| of_mail(config, |it| it.wants.kinds.join(" ")),
    },
    Key {
        name: "mail.digest_seconds",
        meaning: "How many seconds a mail waits for further events before it is sent with them.",
        default: Usual::Value("60"),
        range: "0 to 3600",
        example: "300",
        reloads: false,
        value: |config| of_mail(config, |it| it.digest_seconds.to_string()),
    },
    Key {
        name: "mail.ca_file",
        meaning: "The certificate of the authority that is believed, in PEM, instead of those of \
                  the machine.",
        default: Usual::Words("those of the machine"),
        range: "a whole path",
        example: "\"/etc/ashlar/ca.pem\"",
        reloads: false,
        value: |config| of_mail(config, |it| format!("{:?}", it.ca_file)),
    },
];
