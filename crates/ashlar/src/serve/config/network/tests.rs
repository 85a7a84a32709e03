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
    let refused = resolved(&[], "api_listen = 'everywhere'").expect_err("it is no address");
    assert!(refused.to_string().contains("api_listen: 'everywhere'"), "{refused}");
}
