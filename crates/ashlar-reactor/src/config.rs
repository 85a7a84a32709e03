//! What a reactor may use.

use std::time::Duration;

/// Sizes and habits of one reactor. Every limit is per reactor unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Config {
    /// Submission entries of the ring: how much one turn can start with a single system call.
    /// Rounded up to a power of two by the kernel; 8 to 32,768.
    pub ring_entries: u32,
    /// Bytes of one receive buffer shared by the reactor's connections; 512 to 1 MiB.
    pub recv_buffer_bytes: u32,
    /// Receive buffers shared by the reactor's connections: a power of two, 8 to 32,768. Their
    /// memory is taken at the start.
    pub recv_buffer_count: u16,
    /// Shared receive buffers that one connection may keep from the others; what it receives beyond
    /// is copied out. At least 1.
    pub recv_held_per_connection_max: u32,
    /// Bytes received for a connection and not asked for yet, at which receiving pauses. What the
    /// kernel delivers in the same turn still comes on top.
    pub recv_queued_bytes_max: usize,
    /// From how many missing bytes [`TcpStream::recv_exact`](crate::net::TcpStream::recv_exact)
    /// lets the kernel write into the caller's memory. Below it, a copy out of the shared buffers
    /// is cheaper than the extra operation. (Measured CPU time against copying: 0.74 at 128 KiB,
    /// 0.69 at 32 KiB, 1.50 at 16 KiB.)
    pub direct_recv_bytes_min: usize,
    /// Longest time to look for work before sleeping in the kernel; zero never spins. The reactor
    /// adapts what it spends to what spinning brings, and an idle one always sleeps.
    pub spin: Duration,
    /// How long a reactor has nothing to do before it gives back the memory that is kept for use
    /// again.
    pub idle_after: Duration,
    /// Called then, last: the way to an allocator that keeps what was freed.
    pub give_back: Option<fn()>,
    /// Tasks polled, from the queue or at once, between two looks at the ring, so that tasks that
    /// keep waking each other cannot starve I/O.
    pub polls_per_turn_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            ring_entries: 512,
            recv_buffer_bytes: 32 << 10,
            recv_buffer_count: 256,
            recv_held_per_connection_max: 32,
            recv_queued_bytes_max: 256 << 10,
            direct_recv_bytes_min: 24 << 10,
            spin: Duration::ZERO,
            idle_after: Duration::from_secs(2),
            give_back: None,
            polls_per_turn_max: 1024,
        }
    }
}

impl Config {
    /// What is wrong with the values, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let checks = [
            (
                !(8..=32_768).contains(&self.ring_entries),
                format!("ring_entries is {}: it must be 8 to 32768", self.ring_entries),
            ),
            (
                !(512..=1 << 20).contains(&self.recv_buffer_bytes),
                format!(
                    "recv_buffer_bytes is {}: it must be 512 to 1048576",
                    self.recv_buffer_bytes
                ),
            ),
            (
                !self.recv_buffer_count.is_power_of_two()
                    || !(8..=32_768).contains(&self.recv_buffer_count),
                format!(
                    "recv_buffer_count is {}: it must be a power of two, 8 to 32768",
                    self.recv_buffer_count
                ),
            ),
            (
                self.recv_held_per_connection_max == 0,
                "recv_held_per_connection_max is 0: it must be at least 1".to_owned(),
            ),
            (
                self.recv_queued_bytes_max == 0,
                "recv_queued_bytes_max is 0: it must be at least 1".to_owned(),
            ),
            (
                self.polls_per_turn_max == 0,
                "polls_per_turn_max is 0: it must be at least 1".to_owned(),
            ),
        ];
        checks.into_iter().find(|(wrong, _)| *wrong).map(|(_, why)| why)
    }
}
