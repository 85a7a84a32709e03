use rustix::event::{EventfdFlags, eventfd};

use super::*;

const COUNT: u16 = 8;

/// Buffers that are full of ones.
fn filled(buffer_bytes: u32) -> Arc<Buffers> {
    let inbox = Inbox::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    let buffers = Buffers::new(COUNT, buffer_bytes, Arc::new(inbox));
    for buffer in 0..COUNT {
        // SAFETY: within the memory, and nobody else has it.
        unsafe { buffers.start_of(buffer).as_ptr().write_bytes(1, buffer_bytes as usize) };
    }
    buffers
}

fn bytes_of(buffers: &Arc<Buffers>, buffer: u16) -> Vec<u8> {
    // Without `drop`, after which it would be given back.
    let lent = std::mem::ManuallyDrop::new(Lent::new(
        buffers.clone(),
        buffer,
        buffers.buffer_bytes() as usize,
    ));
    lent.as_ref().as_ref().to_vec()
}

#[test]
fn a_buffer_of_whole_pages_gives_its_memory_back() {
    let buffer_bytes = page_size() as u32;
    let buffers = filled(buffer_bytes);
    buffers.give_memory_back(3);
    for buffer in 0..COUNT {
        let expected = u8::from(buffer != 3);
        assert!(bytes_of(&buffers, buffer).iter().all(|byte| *byte == expected), "buffer {buffer}");
    }
}

#[test]
fn what_others_have_in_the_same_page_stays() {
    let page_bytes = page_size() as u32;
    for buffer_bytes in [512, page_bytes - 1, page_bytes + 512] {
        let buffers = filled(buffer_bytes);
        (0..COUNT).step_by(2).for_each(|buffer| buffers.give_memory_back(buffer));
        for buffer in (1..COUNT).step_by(2) {
            assert!(
                bytes_of(&buffers, buffer).iter().all(|byte| *byte == 1),
                "{buffer} of {buffer_bytes}"
            );
        }
    }
}
