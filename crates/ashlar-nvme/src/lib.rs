//! NVMe, NVMe over Fabrics and NVMe/TCP structures: bytes to types and back.
