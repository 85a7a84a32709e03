//! The NVMe/TCP initiator, verified workloads and benchmarks.
