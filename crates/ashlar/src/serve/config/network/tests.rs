use super::*;

fn resolved(arguments: &[&str], text: &str) -> anyhow::Result<NetworkConfig> {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    resolve(&arguments, &toml::from_str(text).expect("it is understood"))
}

#[test]
fn the_api_is_served_by_the_network_only_where_somebody_says_so() {
    assert_eq!(resolved(&[], "").expect("it is well"), NetworkConfig::default());
    let addresses = |config: NetworkConfig| config.addresses.len();
    assert_eq!(addresses(resolved(&[], "api_listen = '0.0.0.0:8443'").expect("one")), 1);
    let two = "api_listen = ['192.0.2.1:8443', '[::1]:8443']";
    assert_eq!(addresses(resolved(&[], two).expect("two")), 2);
    assert_eq!(addresses(resolved(&["127.0.0.1:1"], two).expect("the command line's")), 1);
}

#[test]
fn what_is_no_address_or_lacks_its_other_half_is_named() {
    let refused = |text: &str| resolved(&[], text).expect_err("it is refused").to_string();
    assert!(refused("api_listen = 'everywhere'").contains("api_listen: 'everywhere'"));
    let listen = "api_listen = '127.0.0.1:1'\n";
    assert!(refused(&format!("{listen}api_certificate = '/c'")).contains("needs api_key"));
    assert!(refused(&format!("{listen}api_key = '/k'")).contains("needs api_certificate"));
    assert!(refused("api_certificate = '/c'\napi_key = '/k'").contains("is for api_listen"));
}
