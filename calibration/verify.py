"""Says from a few views whether a calibration still holds, and by how much a camera drifted where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tendon.calibration.fitting import fit
from tendon.calibration.results.record import CalibrationRecord
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.known import KnownZeros
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.rig.solve import first_guess, views_that_tell
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import mm_and_deg
from tendon.calibration.words import survival_6, within
from tendon.core.errors import CalibrationError, MismatchError

FALSE_ALARM = 0.03
"""Share of calibrations that hold and are said to have drifted."""
LEAST_MM, LEAST_DEG = 0.3, 0.03
"""Less is no drift that anybody has to do something about."""
LEAST_VIEWS = 3
BAD_FIT = 3.0
"""Times the noise that the calibration was made with: something else than a camera has changed."""


@dataclass(frozen=True, kw_only=True)
class CameraDrift:
    """What became of a camera.

    Attributes:
        camera: its name.
        away_mm: from where the calibration has it.
        turned_deg: likewise.
        within_mm: radius that holds the truth of that with 95 %.
        within_deg: likewise.
        confidence: that it has moved at all, 0 to 1.
        drifted: whether it has to be calibrated again.
    """

    camera: str
    away_mm: float
    turned_deg: float
    within_mm: float
    within_deg: float
    confidence: float
    drifted: bool

    def __str__(self) -> str:
        """Returns a sentence."""
        if not self.drifted:
            return (
                f"camera {self.camera} still holds: {self.away_mm:.2f} mm and {self.turned_deg:.3f} deg off, and "
                "these views "
                f"tell {self.within_mm:.2f} mm and {self.within_deg:.3f} deg"
            )
        return (
            f"camera {self.camera} drifted by {self.away_mm:.2f} mm and {self.turned_deg:.3f} deg "
            f"(+-{self.within_mm:.2f} mm, "
            f"+-{self.within_deg:.3f} deg; confidence {100 * min(self.confidence, 0.9999):.2f} %): calibrate again"
        )


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a few views tell of a calibration.

    Attributes:
        cameras: one each.
        rms_px: of the views against where things are now.
        noise: how many times that is of what the calibration was made with.
    """

    cameras: tuple[CameraDrift, ...]
    rms_px: float
    noise: float

    @property
    def holds(self) -> bool:
        """Whether the calibration is still to be used."""
        return self.noise < BAD_FIT and not any(each.drifted for each in self.cameras)

    def lines(self) -> list[str]:
        """Returns it in words."""
        said = [str(each) for each in self.cameras]
        if self.noise >= BAD_FIT:
            said.append(
                f"views fit {self.noise:.1f} times worse than when it was calibrated ({self.rms_px:.2f} px): a "
                "joint's zero, the "
                "lens or the board has changed; calibrate again"
            )
        return said


def verify(record: CalibrationRecord, rig: Rig, views: Sequence[View]) -> Verification:
    """Returns whether a calibration still holds.

    The board may be anywhere: where it is, is found again. Lenses are taken as calibrated, joint zeros within what the
    calibration says of them.

    Args:
        record: the calibration.
        rig: which cameras and boards there are; its intrinsics are not looked at.
        views: `LEAST_VIEWS` of each camera at least, turned as for a calibration.

    Raises:
        MismatchError: the calibration is of another robot, or lacks a camera.
        CalibrationError: the robot moved in one, or too few views from different poses.
    """
    if record.robot != rig.profile.name:
        raise MismatchError(
            f"the calibration is of robot {record.robot}, the views are of {rig.profile.name}: take views of that robot"
        )
    chain = Chain(rig.profile)
    views = views_that_tell(rig, views, chain)
    for camera in rig.cameras:
        if camera.name not in record.cameras:
            raise MismatchError(f"the calibration has no camera {camera.name}: it has {', '.join(record.cameras)}")
        seen = sum(view.camera == camera.name for view in views)
        if seen < LEAST_VIEWS:
            raise CalibrationError(
                f"camera {camera.name} has {seen} views with a board, from different poses, needed are {LEAST_VIEWS}, "
                "better 8: take more"
            )
    cameras = tuple(replace(c, model=record.cameras[c.name].model, refine=False) for c in rig.cameras)
    # As sure as they were calibrated: taken for exact, what they are off by would be a drift of the camera.
    joints = tuple(record.joints)
    doubt_of_zeros = np.array(record.zero_covariance).reshape(len(joints), len(joints))
    fixed = replace(
        rig,
        cameras=cameras,
        joints=joints,
        known=KnownZeros(
            joints=joints, zeros=np.array([record.joints[name].zero for name in joints]), covariance=doubt_of_zeros
        ),
    )
    zeros = fixed.known.vector(rig.profile.joint_names)
    true = [replace(view, joints=view.joints - zeros) for view in views]
    places, boards = first_guess(fixed, true, chain, {c.name: record.cameras[c.name].place.pose for c in cameras})
    state = RigState(
        rig=fixed,
        views=tuple(views),
        chain=chain,
        cameras=places,
        boards=boards,
        zeros=zeros,
        models={camera.name: camera.model for camera in cameras},
    )
    found = fit(state, shared_rad=record.shared_rad)
    spots, drifts = found.state.places(), []
    for camera in cameras:
        old = record.cameras[camera.name].place
        change = old.pose.change_to(found.state.cameras[camera.name])
        spot = spots["camera", camera.name]
        covariance = found.covariance[spot, spot] + old.spread
        if joints:
            # Both places lean on the same zeros: what those are off by moves both, and is no drift.
            columns = [spots["joint", name].start for name in joints]
            leaning = found.covariance[spot][:, columns] @ np.linalg.inv(doubt_of_zeros)
            common = leaning @ np.array(record.cameras[camera.name].with_zeros).T
            covariance = covariance - common - common.T
        doubt = survival_6(float(change @ np.linalg.solve(covariance, change)))
        away, turned = mm_and_deg(change)
        mm, deg = within(covariance)
        drifts.append(
            CameraDrift(
                camera=camera.name,
                away_mm=away,
                turned_deg=turned,
                within_mm=mm,
                within_deg=deg,
                confidence=1.0 - doubt,
                drifted=doubt < FALSE_ALARM and (away > LEAST_MM or turned > LEAST_DEG),
            )
        )
    return Verification(cameras=tuple(drifts), rms_px=found.rms_px, noise=found.sigma_px / max(record.sigma_px, 0.02))
