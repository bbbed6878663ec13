# cython: language_level=3, cdivision=True, wraparound=False
"""The motion that the reference averages, joint by joint: one period more of it, its average, and the stop.

A history is (m + 1, n) positions and velocities at the ends of the last `m` periods, the newest last, and (m, n)
positions averaged over each.
"""

import numpy as np

from libc.math cimport copysign, fabs, floor

from tendon.core.compiled import check_source

cdef extern from *:
    const char* SOURCE_DIGEST
check_source(__file__, SOURCE_DIGEST)

cdef enum:
    MOST_PERIODS = 1000000  # of braking: more is no robot's


def extended(
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] mean not None,
    const double[:] newest not None,
    double period_s,
):
    """Returns the history one period later, with (n,) `newest` velocity and constant acceleration until then."""
    cdef Py_ssize_t window = mean.shape[0], count = mean.shape[1], k, i
    positions, velocities = np.empty((window + 1, count)), np.empty((window + 1, count))
    means = np.empty((window, count))
    cdef double[:, ::1] position_view = positions, velocity_view = velocities, mean_view = means
    cdef double before, last
    for k in range(window):
        for i in range(count):
            position_view[k, i], velocity_view[k, i] = position[k + 1, i], velocity[k + 1, i]
            if k:
                mean_view[k - 1, i] = mean[k, i]
    for i in range(count):
        before, last = velocity[window, i], position[window, i]
        position_view[window, i] = last + (0.5 * period_s) * (before + newest[i])
        velocity_view[window, i] = newest[i]
        mean_view[window - 1, i] = last + period_s * (before * (1.0 / 3.0) + newest[i] * (1.0 / 6.0))
    return positions, velocities, means


def average(
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] mean not None,
    double period_s,
):
    """Returns (3, n): position, velocity and acceleration of the reference now."""
    cdef Py_ssize_t window = mean.shape[0], count = mean.shape[1], k, i
    now = np.empty((3, count))
    cdef double[:, ::1] now_view = now
    cdef double total
    for i in range(count):
        # Of a joint that stands it is exactly where that stands: a third of three equal numbers is not.
        total = 0.0
        for k in range(window):
            total += mean[k, i] - position[window, i]
        now_view[0, i] = position[window, i] + total / window
        now_view[1, i] = (position[window, i] - position[0, i]) / (window * period_s)
        now_view[2, i] = (velocity[window, i] - velocity[0, i]) / (window * period_s)
    return now


cdef struct Braked:
    double way  # how far the joint has come
    double speed
    double area  # the integral of its way


cdef Braked braked(double periods, double speed, double full, double acceleration, double period_s) noexcept:
    """Returns what became of one joint after so many periods of braking.

    Args:
        periods: since it began to brake, at least zero.
        speed: with which it began, at least zero.
        full: periods in which it brakes by all of `acceleration`.
        acceleration: largest braking.
        period_s: control period.
    """
    cdef double rest = max(speed - full * (acceleration * period_s), 0.0)  # braked in the period after those
    cdef double elapsed = min(periods, full) * period_s
    cdef double lost = acceleration * elapsed
    cdef double way = elapsed * (speed - 0.5 * lost)
    cdef double area = elapsed * elapsed * (0.5 * speed - lost * (1.0 / 6.0))
    if periods <= full:
        return Braked(way, speed - lost, area)
    cdef double end = way + (0.5 * period_s) * rest
    # One period of `rest` to zero adds h^2/3 of it to the integral.
    area += period_s * (way + (period_s / 3.0) * rest) + (periods - full - 1.0) * period_s * end
    return Braked(end, 0.0, area)


def stop(
    const double[:, :] position not None,
    const double[:, :] velocity not None,
    const double[:, :] mean not None,
    const double[:] acceleration not None,
    double period_s,
):
    """Returns the (k,) ticks of the stop after a history, and its (3, k, n) positions, velocities and accelerations.

    Raises:
        ValueError: a velocity is not finite, or so large that it takes a million periods to brake.
    """
    cdef Py_ssize_t window = mean.shape[0], count = mean.shape[1], i, j, k, begin
    cdef double speed, sign, here, way = 0.0, rate, area, past, past_rate, past_area
    cdef double span_s = window * period_s, longest = 0.0
    cdef Braked now, then
    full = np.empty(count)
    cdef double[::1] full_view = full
    for i in range(count):
        full_view[i] = floor(fabs(velocity[window, i]) / (acceleration[i] * period_s))
        if not full_view[i] <= MOST_PERIODS:
            raise ValueError(f"no stop is known from velocity {velocity[window, i]} by braking at {acceleration[i]}")
        longest = max(longest, full_view[i])
    cdef Py_ssize_t knot, after
    knots = np.zeros(<Py_ssize_t>longest + window + 2, dtype=np.uint8)
    cdef unsigned char[::1] knots_view = knots
    for k in range(window + 1):
        knots_view[k] = 1
    for i in range(count):
        knot = <Py_ssize_t>full_view[i]
        after = knot + (fabs(velocity[window, i]) > full_view[i] * (acceleration[i] * period_s))
        knots_view[knot] = knots_view[knot + window] = knots_view[after] = knots_view[after + window] = 1
    ticks = np.flatnonzero(knots)
    cdef const Py_ssize_t[::1] tick = ticks
    motion, first = np.empty((3, tick.shape[0], count)), average(position, velocity, mean, period_s)
    cdef double[:, :, ::1] motion_view = motion
    cdef double[:, ::1] first_view = first
    cdef Py_ssize_t last = tick.shape[0] - 1
    for i in range(count):
        here, speed = position[window, i], fabs(velocity[window, i])
        sign = copysign(1.0, velocity[window, i])
        for j in range(tick.shape[0]):
            now = braked(<double>tick[j], speed, full_view[i], acceleration[i], period_s)
            way, rate, area = here + sign * now.way, sign * now.speed, sign * now.area
            # What the average covers begins a window before: in the history, as long as that is not braked.
            begin = tick[j] - window
            if begin > 0:
                then = braked(<double>begin, speed, full_view[i], acceleration[i], period_s)
                past, past_rate, past_area = here + sign * then.way, sign * then.speed, sign * then.area
            else:
                past, past_rate, past_area = position[tick[j], i], velocity[tick[j], i], 0.0
                for k in range(window - 1, tick[j] - 1, -1):
                    past_area += mean[k, i] - here
                past_area *= -period_s
            motion_view[0, j, i] = here + (area - past_area) / span_s
            motion_view[1, j, i] = (way - past) / span_s
            motion_view[2, j, i] = (rate - past_rate) / span_s
        # Not different in the last digit.
        for k in range(3):
            motion_view[k, 0, i], motion_view[k, last, i] = first_view[k, i], 0.0
        motion_view[0, last, i] = way
    return ticks, motion
