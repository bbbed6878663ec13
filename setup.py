"""Package metadata: one file serves pip and ament_python (colcon reads the data files from here)."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

ROS = [
    "ros-jazzy-rclpy",
    "ros-jazzy-rmw-fastrtps-cpp",
    "ros-jazzy-common-interfaces",
]
SIM = ["pybullet>=3.2.6", "gymnasium>=1.0", "av>=13", "matplotlib>=3.8"]
TRAIN = ["torch==2.13.0", "onnx>=1.17", "onnxscript>=0.5"]
DEV = [
    "pytest>=8",
    "hypothesis>=6.100",
    "ruff>=0.8",
    "mypy>=1.13",
    "import-linter>=2.1",
    "pre-commit>=4",
    "colcon-common-extensions",
    "types-PyYAML",
]


def share(folder: str, pattern: str = "*") -> tuple[str, list[str]]:
    """Returns one ament data-file entry: what ROS tools look up under `share/tendon`."""
    return f"share/tendon/{folder}", [f for f in glob(f"{folder}/{pattern}") if Path(f).is_file()]


setup(
    name="tendon",
    version="0.1.0",
    description="Deploys vision-language-action policies on robots with ROS 2",
    long_description=Path("README.md").read_text(encoding="utf-8") if Path("README.md").exists() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author="The Tendon team",
    author_email="team@tendon.invalid",
    maintainer="The Tendon team",
    maintainer_email="team@tendon.invalid",
    python_requires=">=3.10",
    packages=find_packages(include=["tendon", "tendon.*"]),
    include_package_data=False,
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/tendon"]),
        ("share/tendon", ["package.xml"]),
        share("launch", "*.launch.py"),
        share("robots/panda"),
    ],
    install_requires=[
        "numpy>=1.26",
        "pin>=3.0",
        "onnxruntime>=1.19",
        "opencv-python-headless>=4.9",
        "PyYAML>=6",
        "rich>=13",
    ],
    extras_require={
        "ros": ROS,
        "sim": SIM,
        "train": SIM + TRAIN,
        "gpu": ["onnxruntime-gpu>=1.19", "tensorrt>=10"],
        "dev": DEV,
    },
    entry_points={"console_scripts": ["tendon = tendon.cli:main"]},
    zip_safe=False,
)
