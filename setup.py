"""Package metadata: one file serves pip and ament_python (colcon reads the data files from here)."""

from hashlib import sha256
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

# `colcon build --symlink-install` runs a link to this file from a folder that lacks the README.
README = Path(__file__).resolve().parent / "README.md"
ROS = [
    "ros-jazzy-rclpy",
    "ros-jazzy-rmw-fastrtps-cpp",
    "ros-jazzy-common-interfaces",
]
# PyBullet has no wheels beyond Python 3.11, and there pip would build it for ten minutes or fail: all else installs.
PYBULLET = "pybullet>=3.2.6; python_version < '3.12'"
# MuJoCo 4.0.0 has a wrong Hessian. Where PyBullet has no wheels, MuJoCo is the simulator; the Panda's meshes, which
# PyBullet brings along, are then those of example-robot-data.
MUJOCO = ["mujoco>=3.17,!=4.0.0", "example-robot-data>=4.1"]
NEWER_PYTHON = [f"{each}; python_version >= '3.12'" for each in MUJOCO]
SIM = [PYBULLET, *NEWER_PYTHON, "gymnasium>=1.0", "av>=13", "matplotlib>=3.8", "pillow>=10"]
REMOTE = ["websockets>=15", "msgpack>=1.1", "pyzmq>=26"]
DATA = ["mcap>=1.6", "zstandard>=0.22", "rosbags>=0.11", "pyarrow>=19", "av>=13", "pillow>=10"]
VIEW = ["rerun-sdk>=0.41"]
# evdev-binary is evdev that is built already, as far as there are wheels; pyspacemouse loads libhidapi, which is a
# package of the system.
TELEOP = [
    "evdev-binary>=1.9; sys_platform == 'linux' and platform_machine == 'x86_64'",
    "evdev>=1.9; sys_platform == 'linux' and platform_machine != 'x86_64'",
    "pyspacemouse>=2.1",
]
REDTEAM = ["cma>=4"]
RAY = ["ray>=2.40"]
TRAIN = ["torch==2.13.0", "onnx>=1.17", "onnxscript>=0.5", "tensorboard>=2.20"]
OPENVINO = ["openvino>=2025.0"]
# Both hold the same files, so that an environment has one of them: no other extra, and not the base, asks for either.
CPU = ["onnxruntime>=1.21"]
# onnxruntime loads libnvinfer.so.10, TensorRT's next version has another, and both must be built for one CUDA: 12 where
# Python is 3.10, 13 since.
GPU = [
    "onnxruntime-gpu[cuda,cudnn]>=1.27; python_version >= '3.11'",
    "onnxruntime-gpu[cuda,cudnn]>=1.21; python_version < '3.11'",
    "tensorrt>=10.14,<11; python_version >= '3.11'",
    "tensorrt>=10,<10.13; python_version < '3.11'",
]
# MkDocs 2 is another program: no plugins, other configuration.
DOCS = ["mkdocs>=1.6,<2", "mkdocs-material>=9.6,<10", "mkdocstrings[python]>=0.30"]
DEV = [
    "cython>=3",
    *OPENVINO,
    *REDTEAM,
    *DATA,
    *MUJOCO,
    *TELEOP,
    "pytest>=8",
    "pytest-timeout>=2.4",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "onnx>=1.17",
    "ruff>=0.8",
    "mypy>=1.13",
    "types-PyYAML",
    "types-psutil",
    "import-linter>=2.1",
    "pre-commit>=4",
    "psutil>=6",
    "colcon-common-extensions",
    "setuptools>=70.1,<80",
]


def share(*folders: str) -> list[tuple[str, list[str]]]:
    """Returns the ament data-file entries of folders and all below them: they land under `share/tendon`."""
    entries = []
    for folder in sorted(f for top in folders for f in [Path(top), *Path(top).rglob("*/")] if f.is_dir()):
        files = [str(file) for file in sorted(folder.iterdir()) if file.is_file()]
        if files and folder.name != "__pycache__":
            entries.append((f"share/tendon/{folder.as_posix()}", files))
    return entries


class Compile(build_ext):
    """Compiles `.pyx` files by Cython, always anew: by its age alone, what was built may be of another source."""

    def finalize_options(self) -> None:
        """Adds to what the command line says."""
        super().finalize_options()
        self.force, self.parallel, self.cython_c_in_temp = True, self.parallel or 4, True

    def run(self) -> None:
        """Compiles, or says what is missing."""
        try:
            from Cython import __version__ as version
        except ImportError:
            version = "0"
        if int(version.split(".")[0]) < 3:
            raise SystemExit(
                "Cython 3 compiles Tendon, and is not here: pip install cython, or apt-get install cython3"
            )
        super().run()


def compiled() -> list[Extension]:
    """Returns the modules that are compiled: the `.pyx` files, each with its digest in it."""
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            define_macros=[("SOURCE_DIGEST", f'"{sha256(source.read_bytes()).hexdigest()}"')],
            # Numbers are the same on every processor, and NaN is one whatever CFLAGS ask for.
            extra_compile_args=["-O1", "-g0", "-ffp-contract=off", "-fno-fast-math"],
        )
        for source in sorted(Path("tendon").rglob("*.pyx"))
    ]


setup(
    name="tendon-vla",  # `tendon` is another project on PyPI; the import and the ROS package are `tendon`
    version="0.1.0",
    description="Deploys vision-language-action policies on robots with ROS 2",
    long_description=README.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author="The Tendon team",
    author_email="team@tendon.invalid",
    maintainer="The Tendon team",
    maintainer_email="team@tendon.invalid",
    python_requires=">=3.10",
    packages=find_packages(include=["tendon", "tendon.*"]),
    package_data={"": ["*.xml", "py.typed", "*.pyx", "*.pyi"]},
    ext_modules=compiled(),
    cmdclass={"build_ext": Compile},
    include_package_data=False,
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/tendon"]),
        ("share/tendon", ["package.xml"]),
        *share("launch", "foxglove", "robots", "environments", "suites", "bundles"),
        ("lib/tendon", [str(script) for script in sorted(Path("scripts").iterdir())]),
    ],
    install_requires=[
        "numpy>=1.26",
        "pin>=3.0",
        "opencv-python-headless>=4.9",
        "coal>=3.0",
        "daqp>=0.5",
        "PyYAML>=6",
        "rich>=13",
        "scipy>=1.13",
        "typer>=0.12",
        "cryptography>=42",
        "safetensors>=0.4",
        "tokenizers>=0.20",
    ],
    extras_require={
        "ros": ROS,
        "sim": SIM,
        "mujoco": MUJOCO,
        "remote": REMOTE,
        "data": DATA,
        "view": VIEW,
        "teleop": TELEOP,
        "redteam": REDTEAM,
        "ray": RAY,
        "train": SIM + TRAIN,
        "openvino": OPENVINO,
        "cpu": CPU,
        "gpu": GPU,
        "docs": DOCS,
        "dev": DEV,
    },
    entry_points={
        "console_scripts": ["tendon = tendon.cli:main"],
        "pytest11": ["tendon = tendon.testing.plugin"],
    },
    zip_safe=False,
)
