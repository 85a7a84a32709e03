use super::*;

#[test]
fn a_processor_has_the_name_that_the_kernel_gives_it() {
    let of_x86 = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: other\n";
    assert_eq!(model_name(of_x86), Some("AMD EPYC"));
    assert_eq!(model_name("processor\t: 0\nBogoMIPS\t: 50.00\n"), None, "Arm has none");
}

#[test]
fn a_machine_says_what_it_is_in_one_line() {
    let machine = Machine {
        processors: 2,
        processor: "AMD EPYC".to_owned(),
        memory_bytes: (24 << 30) + 4095,
        kernel: "Linux 6.12".to_owned(),
        measured_at: "2026-11-23T08:00:00Z".to_owned(),
    };
    let line = "2026-11-23T08:00:00Z: 2 processors (AMD EPYC), 24GiB of memory, Linux 6.12";
    assert_eq!(machine.to_string(), line);
    assert!(Machine::here().expect("it is Linux").processors > 0);
}
