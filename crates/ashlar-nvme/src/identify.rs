//! Structures that Identify returns (Base 2.1, section 5.1.13; NVM Command Set 1.1, section 4.1.5).

mod controller;
mod list;
mod namespace;

pub use controller::{
    IdentifyController, NvmIdentifyController, controller_attributes, controller_type,
    identify_bits,
};
pub use list::{
    CONTROLLER_LIST_MAX, NAMESPACE_LIST_MAX, NamespaceDescriptor, command_set_vectors,
    controller_list, descriptor_list, endurance_group_list, namespace_list, namespaces_of_list,
    parse_descriptors,
};
pub use namespace::{
    IdentifyNamespace, IndependentNamespace, LbaFormat, NvmIdentifyNamespace, namespace_bits,
};

/// Bytes of every Identify structure.
pub const IDENTIFY_BYTES: usize = 4096;

/// Command set identifier of the NVM command set.
pub const CSI_NVM: u8 = 0x00;

/// CNS values: which structure Identify returns.
pub mod cns {
    /// Identify Namespace of an active namespace, NVM command set.
    pub const NAMESPACE: u8 = 0x00;
    /// Identify Controller.
    pub const CONTROLLER: u8 = 0x01;
    /// Active namespace list.
    pub const ACTIVE_NAMESPACES: u8 = 0x02;
    /// Namespace identification descriptors.
    pub const NAMESPACE_DESCRIPTORS: u8 = 0x03;
    /// Identify Namespace, specific to a command set.
    pub const NAMESPACE_OF_SET: u8 = 0x05;
    /// Identify Controller, specific to a command set.
    pub const CONTROLLER_OF_SET: u8 = 0x06;
    /// Active namespace list of a command set.
    pub const ACTIVE_NAMESPACES_OF_SET: u8 = 0x07;
    /// Identify Namespace, the same for all command sets.
    pub const NAMESPACE_INDEPENDENT: u8 = 0x08;
    /// Allocated namespace list.
    pub const ALLOCATED_NAMESPACES: u8 = 0x10;
    /// Identify Namespace of an allocated namespace.
    pub const ALLOCATED_NAMESPACE: u8 = 0x11;
    /// Controllers attached to a namespace.
    pub const ATTACHED_CONTROLLERS: u8 = 0x12;
    /// Controllers of the subsystem.
    pub const CONTROLLERS: u8 = 0x13;
    /// Endurance groups.
    pub const ENDURANCE_GROUPS: u8 = 0x19;
    /// Allocated namespace list of a command set.
    pub const ALLOCATED_NAMESPACES_OF_SET: u8 = 0x1a;
    /// Combinations of command sets.
    pub const COMMAND_SETS: u8 = 0x1c;
}

#[cfg(test)]
mod tests;
