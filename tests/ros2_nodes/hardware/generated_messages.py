"""Makes the Python package controller_manager_msgs, which is on no package index, from an interface written here.

The generators, headers and libraries come with the ROS wheels; gcc has to be there. Only what the safety monitor uses
is made: `controller_manager_msgs/srv/SwitchController`, as ROS 2 Jazzy has it (field names, types and order decide).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

PACKAGE = "controller_manager_msgs"
SWITCH_CONTROLLER = """\
string[] activate_controllers
string[] deactivate_controllers
int32 strictness
int32 BEST_EFFORT=1
int32 STRICT=2
bool activate_asap
builtin_interfaces/Duration timeout
---
bool ok
string message
"""
PREFIX = Path(sys.prefix)
USED = ("builtin_interfaces", "service_msgs")
HEADERS = ("rcutils", "rmw", "rosidl_dynamic_typesupport", "rosidl_runtime_c", "rosidl_runtime_cpp")
HEADERS += ("rosidl_typesupport_interface", "rosidl_typesupport_c")
HEADERS += ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_fastrtps_cpp")
LIBRARIES = ("fastcdr", "rcutils", "rmw", "rosidl_runtime_c", "rosidl_typesupport_c")
LIBRARIES += ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_fastrtps_cpp")
PARTS = ("generator_c", "generator_py", "typesupport_c", "typesupport_fastrtps_c")


def can_be_made() -> bool:
    """Returns whether the compilers are here."""
    return all(map(shutil.which, ("gcc", "g++")))


def make_messages(folder: Path) -> Path:
    """Makes the package in a folder, which belongs on PYTHONPATH then; returns the folder."""
    sources = _generate(folder)
    headers = [folder / "include" / PACKAGE, PREFIX / "include", sysconfig.get_paths()["include"], np.get_include()]
    headers += [PREFIX / "include" / name for name in (*USED, *HEADERS)]
    objects = []
    for source in sources:
        objects.append(source.with_suffix(f"{source.suffix}.o"))
        compiler = "g++" if source.suffix == ".cpp" else "gcc"
        given = [argument for header in headers for argument in ("-I", str(header))]
        _call(compiler, "-w", "-fPIC", "-O0", *given, "-c", str(source), "-o", str(objects[-1]))
    libraries = [*LIBRARIES, *(f"{name}__rosidl_{part}" for name in USED for part in PARTS)]
    module = folder / PACKAGE / f"{PACKAGE}_s__rosidl_typesupport_c{sysconfig.get_config_var('EXT_SUFFIX')}"
    linked = (f"-L{PREFIX / 'lib'}", *(f"-l{name}" for name in libraries))
    _call("g++", "-shared", "-o", str(module), *map(str, objects), *linked)
    return folder


def _generate(folder: Path) -> list[Path]:
    """Writes Python and C sources; returns those to compile. In a process of its own: it needs ROS's environment."""
    environment = os.environ | {"AMENT_PREFIX_PATH": str(PREFIX)}
    said = subprocess.run(
        [sys.executable, __file__, str(folder)], env=environment, check=True, capture_output=True, text=True
    )
    del said
    (folder / PACKAGE / "__init__.py").touch()
    found = [*(folder / "include").rglob("*.c*"), *(folder / PACKAGE).rglob("*.c")]
    return [path for path in found if path.suffix in (".c", ".cpp")]


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def _write_sources(folder: Path) -> None:
    from rosidl_adapter.srv import convert_srv_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_generator_type_description.cli import HashTypeDescription
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    interface = folder / "interface" / "srv" / "SwitchController.srv"
    interface.parent.mkdir(parents=True)
    interface.write_text(SWITCH_CONTROLLER)
    convert_srv_to_idl(folder / "interface", PACKAGE, Path("srv") / interface.name, interface.parent)
    given = (PACKAGE, [f"{folder / 'interface'}:srv/SwitchController.idl"])
    known = [str(PREFIX / "share" / name) for name in USED]
    headers, package = folder / "include" / PACKAGE / PACKAGE, folder / PACKAGE
    hashes = HashTypeDescription("").generate_type_hashes(*given, known, headers)
    GenerateC("").generate(*given, known, headers, hashes)
    GenerateFastRTPSCTypesupport("").generate(*given, known, headers)
    one = ["rosidl_typesupport_fastrtps_c"]
    GenerateCTypesupport("", typesupport_implementations=one).generate(*given, known, headers)
    GeneratePython("", typesupport_implementations=["rosidl_typesupport_c"]).generate(*given, known, package)


if __name__ == "__main__":
    _write_sources(Path(sys.argv[1]))
