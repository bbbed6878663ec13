#!/usr/bin/env bash
# Runs a command with ROS sourced, and the user's own workspace where WORKSPACE names one.
set -e
source /opt/ros/jazzy/setup.bash
if [ -n "${WORKSPACE:-}" ]; then
    source "$WORKSPACE/install/setup.bash"
fi
exec "$@"
