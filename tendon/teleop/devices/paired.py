"""Two devices as one: an arm that has no deadman of its own, and what is held meanwhile."""

from __future__ import annotations

from tendon.teleop.device import Device, Reading


class PairedDevice:
    """Joints of one device, keys and axes of another.

    Attributes:
        arm: says where its joints are.
        holder: has the deadman, such as a pedal or a key.
    """

    def __init__(self, arm: Device, holder: Device) -> None:
        self.arm, self.holder = arm, holder

    @property
    def name(self) -> str:
        """See `Device`."""
        return f"{self.arm.name} + {self.holder.name}"

    def open(self) -> None:
        """See `Device`."""
        self.arm.open()
        self.holder.open()

    def read(self) -> Reading:
        """See `Device`."""
        holds, arm = self.holder.read(), self.arm.read()
        return Reading(axes=holds.axes, pressed=holds.pressed, joints=arm.joints)

    def close(self) -> None:
        """See `Device`."""
        self.arm.close()
        self.holder.close()
