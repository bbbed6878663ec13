# Tendon beside apt's ROS 2 Jazzy: Ubuntu 24.04, Python 3.12, simulation in MuJoCo. docs/how-to/containers.md
#   docker build -t tendon .
#   docker run --rm -it --net=host --ipc=host tendon tendon demo
ARG BASE=ros:jazzy-ros-base
FROM ${BASE} AS robot
SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# EGL for MuJoCo's pictures; a compiler for what every tick computes; venv, as Ubuntu keeps pip out of the system.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        gcc libc6-dev libegl1 libgl1-mesa-dri python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

# apt's rclpy and its messages are seen in here; numpy 2 is from PyPI, as our wheels do not resolve with "numpy<2".
RUN python3 -m venv --system-site-packages /opt/tendon
ENV PATH=/opt/tendon/bin:${PATH} MUJOCO_GL=egl
COPY . /opt/source
RUN pip install --no-cache-dir "/opt/source[cpu,sim,mujoco,remote]" && rm -rf /opt/source

COPY .devcontainer/entry.sh /usr/local/bin/container_entry
RUN useradd --create-home --shell /bin/bash --groups dialout,video tendon
USER tendon
WORKDIR /home/tendon
ENTRYPOINT ["container_entry"]
CMD ["tendon", "doctor"]

# What a developer needs beside it; the checkout is mounted, and make installs into it.
FROM robot AS dev
USER root
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends git make sudo \
    && rm -rf /var/lib/apt/lists/* \
    && echo "tendon ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/tendon
USER tendon
CMD ["bash"]
