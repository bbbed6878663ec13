"""From demonstrations to a bundle, at the smallest size: every step of the recipe, resumed and checked."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import load_file, save_file

from tendon.cli import main
from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.files import lock_folder
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.loading import load_graph
from tendon.policies.export import bundle as export
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.parity import graph as measuring
from tendon.policies.parity.graph import CASES_FILE, read_cases
from tendon.policies.parity.receipt import RECEIPT_FILE, read_receipt
from tendon.policies.training import recover
from tendon.policies.training.data import Demonstrations
from tendon.policies.training.mixture import Mixture, Part
from tendon.policies.training.model import GRID_WIDTH, TOOL_SLOT, Shape, SmallVla
from tendon.policies.training.pointing import pointing_loss, project
from tendon.policies.training.recover import recover_run
from tendon.policies.training.train import Recipe, Run
from tendon.robots.profile import load_profile
from tendon.sim import demonstrations
from tendon.sim.tabletop.expert.demonstrations import LABELS, TabletopCollector
from tests.policies.training.recorded_episodes import Memory, moving, recording

torch.set_num_threads(1)
SHAPE = Shape(
    cameras={"scene": (32, 32), "wrist": (32, 32)}, tools=1, state=7, rows=16, components=4, tokens=16, vocabulary=9
)

VIEW = {"rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "eye": [0.0, 0.0, 1.0], "focal": 1.0}
VIEWS = {name: VIEW | {"on_tool": 0 if name == "wrist" else None} for name in SHAPE.cameras}
STATISTICS = {"state_mean": [0.0] * 7, "state_std": [1.0] * 7}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demos")
    collector = TabletopCollector(load_profile("panda"))
    assert demonstrations.collect_shard(collector, folder, [0, 1]) > 16
    collector.close()
    return folder


@pytest.fixture(scope="module")
def run(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    Run(folder, [Part(source=shards)], Recipe(steps=2, batch=4)).train()
    return folder


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of that run, which no test changes."""
    folder = tmp_path_factory.mktemp("exported") / "bundle"
    export.export_bundle(run, folder, load_profile("panda"), "tiny")
    return folder


def test_a_finished_shard_is_not_collected_again(shards: Path) -> None:
    before = (shards / "seeds-000000" / "state.npy").stat().st_mtime_ns
    collector = TabletopCollector(load_profile("panda"))
    demonstrations.collect_shard(collector, shards, [0, 1])
    collector.close()
    assert (shards / "seeds-000000" / "state.npy").stat().st_mtime_ns == before


def test_labels_are_chunks_of_the_stated_shape_inside_the_workspace(shards: Path) -> None:
    data = Demonstrations(shards)
    actions, state = data.arrays["actions"], data.arrays["state"]
    assert actions.shape[1:] == (LABELS, demonstrations.ROWS, 4)
    tool = state[:, None, None, :3] + actions[..., :3]
    assert tool[..., 2].min() > -0.02
    assert np.abs(actions[..., 3]).max() <= 0.04 + 1e-6
    assert data.arrays["prefix_rows"].max() <= demonstrations.LARGEST_PREFIX


def test_demonstrations_say_what_is_background(shards: Path, tmp_path: Path) -> None:
    data = Demonstrations(shards)
    frames = data.frames(np.arange(4))
    for camera, size in data.cameras.items():
        mask = frames[f"mask_{camera}"]
        assert data.masked and mask.shape == (4, *size) and mask.dtype == np.bool_
        assert 0.05 < mask.mean() < 0.98
    train = ["policy", "train", "--augment", "background", "--steps", "1", "--batch", "4", "--data"]
    assert main([*train, str(shards), "--out", str(tmp_path / "masked")]) == 0
    unmasked = tmp_path / "unmasked"
    shutil.copytree(shards, unmasked, ignore=shutil.ignore_patterns("mask_*"))
    assert not Demonstrations(unmasked).masked
    assert main([*train, str(shards), "--data", str(unmasked), "--out", str(tmp_path / "refused")]) == 2
    Run(tmp_path / "both", [Part(source=shards), Part(source=unmasked)], Recipe(steps=1, batch=4)).train()


def test_a_run_resumes_where_it_stopped(shards: Path, run: Path) -> None:
    before = json.loads((run / "run.json").read_text())
    resumed = Run(run, [Part(source=shards)], Recipe(steps=3, batch=4))
    assert resumed.step == before["step"] == 2
    resumed.train()
    assert json.loads((run / "run.json").read_text())["step"] == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"weight": 2.0},
            r"begun with data of \d+ frames \(weight 1\), and is to go on with data of \d+ frames \(weight 2\): ",
        ),
        ({"learning_rate": 2e-3}, "was begun with learning_rate 0.001, and is to go on with learning_rate 0.002"),
        ({"start": True}, "was begun with no earlier weights, and is to go on with weights [0-9a-f]{12}: "),
    ],
)
def test_a_run_does_not_go_on_with_something_else(
    changed: dict[str, float], message: str, shards: Path, run: Path
) -> None:
    """A finished run of other data trained no step, and its record then said that it had seen them."""
    before = (run / "run.json").read_text()
    recipe = Recipe(steps=9, batch=4, learning_rate=changed.get("learning_rate", 1e-3))
    with pytest.raises(ConfigError, match=message):
        Run(run, [Part(source=shards, weight=changed.get("weight", 1.0))], recipe, run if "start" in changed else None)
    assert (run / "run.json").read_text() == before


def test_a_run_whose_first_save_was_cut_starts_from_its_parent(shards: Path, run: Path, tmp_path: Path) -> None:
    """It has a record and no weights yet: it went on from random ones."""
    child = tmp_path / "child"
    child.mkdir()
    shutil.copy(run / "run.json", child)
    weights = Run(child, [Part(source=shards)], Recipe(steps=1, batch=4), run).model.state_dict()
    for name, value in load_file(run / "weights.safetensors").items():
        torch.testing.assert_close(weights[name], value)


def test_a_run_that_fails_before_its_first_step_leaves_nothing_to_go_on_from(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corrected command was refused: the folder had been begun with other data, and held weights of step 0."""
    failing = Run(tmp_path, [Part(source=shards)], Recipe(steps=1, batch=4))
    with monkeypatch.context() as patch:
        patch.setattr(Run, "losses", lambda self, batch: int("no step"))
        with pytest.raises(ValueError, match="no step"):
            failing.train()
    assert {file.name for file in tmp_path.iterdir()}.isdisjoint(("run.json", "state.safetensors"))
    Run(tmp_path, [Part(source=shards, weight=2.0)], Recipe(steps=1, batch=4)).train()
    assert json.loads((tmp_path / "run.json").read_text())["step"] == 1


@pytest.mark.parametrize(
    ("steps", "said"), [(0, "nothing is saved"), (2, "saved at step 2 of 9: the same command goes")]
)
def test_ctrl_c_says_what_is_saved(
    shards: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    steps: int,
    said: str,
) -> None:
    def interrupted(run: Run, batch: dict[str, torch.Tensor]) -> dict[str, float]:
        if run.step == steps:
            raise KeyboardInterrupt
        run.step += 1
        return {}

    monkeypatch.setattr(Run, "_update", interrupted)
    given = ["--data", str(shards), "--out", str(tmp_path / "run"), "--steps", "9", "--batch", "4"]
    assert main(["policy", "train", *given]) == 130
    assert f"{tmp_path}/run: {said}" in capsys.readouterr().out
    assert (tmp_path / "run" / "run.json").exists() == (steps > 0)


def test_two_do_not_train_in_one_folder(shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = lock_folder(tmp_path / "run")
    try:
        assert main(["policy", "train", "--data", str(shards), "--out", str(tmp_path / "run")]) == 2
    finally:
        os.close(lock)
    assert "run: is being written: wait until that has ended" in capsys.readouterr().err
    assert not list((tmp_path / "run").iterdir())


def test_a_run_that_diverges_keeps_what_was_saved(
    shards: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, tmp_path / "run")
    again = Run(tmp_path / "run", [Part(source=shards)], Recipe(steps=9, batch=4))
    before = (tmp_path / "run" / "weights.safetensors").read_bytes()
    lost = dict.fromkeys(("flow", "point", "flag", "look"), torch.tensor(torch.nan))
    monkeypatch.setattr(Run, "losses", lambda self, batch: lost)
    with pytest.raises(InvalidDataError, match=r"the loss is nan in step \d+: take a lower learning rate than 0.001"):
        again.train()
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"batch": 0}, {"learning_rate": -1.0}, {"seed": -1}])
def test_a_recipe_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Recipe(**wrong)  # type: ignore[arg-type]


def test_demonstrations_of_another_place_of_the_cameras_are_refused(shards: Path, tmp_path: Path) -> None:
    """All were trained on through the viewpoints of the first."""
    shutil.copytree(shards, tmp_path / "moved")
    about = json.loads((tmp_path / "moved" / "about.json").read_text())
    about["cameras"]["scene"]["eye"][0] += 0.05
    (tmp_path / "moved" / "about.json").write_text(json.dumps(about))
    with pytest.raises(MismatchError, match="moved has other cameras than the first demonstrations"):
        Mixture([Part(source=shards), Part(source=tmp_path / "moved")], {})


def test_recordings_of_the_same_robot_are_learned_from_beside_demonstrations(shards: Path) -> None:
    """All were refused: where the cameras are was equal, but lists in one and tuples in the other."""
    episodes = recording(Memory([moving(40)]))
    assert len(Mixture([Part(source=shards), Part(source=episodes)], {})) > len(Mixture([Part(source=shards)], {}))


def test_a_run_can_start_from_anothers_weights_and_words(shards: Path, run: Path, tmp_path: Path) -> None:
    child = Run(tmp_path / "child", [Part(source=shards)], Recipe(steps=1, batch=4), run)
    parent = json.loads((run / "run.json").read_text())
    assert (child.step, child.data.vocabulary) == (0, parent["vocabulary"])


def test_demonstrations_that_do_not_say_what_they_are_are_one_clear_error(shards: Path, tmp_path: Path) -> None:
    shutil.copytree(shards, tmp_path / "older")
    about = tmp_path / "older" / "about.json"
    about.write_text(
        json.dumps({k: v for k, v in json.loads(about.read_text()).items() if k not in ("state", "action")})
    )
    with pytest.raises(ConfigError, match="does not say state, action: another version"):
        Demonstrations(tmp_path / "older")


def test_no_demonstrations_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no demonstrations in .*tendon data demos"):
        Demonstrations(tmp_path)


def test_an_exported_bundle_runs_and_keeps_its_prefix(exported: Path) -> None:
    profile = load_profile("panda")
    policy = BundlePolicy(load_bundle(exported), profile)
    home = profile.vector("home")
    images = {
        camera.name: Image(stamp_ns=0, pixels=np.zeros((camera.height, camera.width, 3), np.uint8))
        for camera in profile.cameras
    }
    known_word = policy.manifest.instruction.vocabulary[2]
    seen = Observation(stamp_ns=0, joint_position=home, joint_velocity=0 * home, images=images, instruction=known_word)
    prefix = ActionChunk(actions=np.stack([home, home]), start_ns=10**8, step_ns=10**8, observation_stamp_ns=0)
    chunk = policy.infer(seen, prefix)
    np.testing.assert_array_equal(chunk.actions[:2], prefix.actions)
    assert chunk.actions.shape == (16, 8)


def test_an_export_keeps_the_receipt_and_inferences_that_an_import_keeps(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "bundle")
    assert main(["policy", "export", str(run), folder]) == 0
    assert main(["policy", "check", folder, "--engine", "cpu"]) == 0
    said = f"compared with SmallVla (policies/training/model.py) with the weights of run {run.name}, in torch 2"
    assert "".join(capsys.readouterr().out.split("\n")).count(said) == 2
    content = load_bundle(folder).content
    receipt = read_receipt(content[RECEIPT_FILE])
    assert {row.output for row in receipt.rows} == {"actions", "points", "embedding"} and receipt.passed
    assert receipt.machine["versions"]["torch"] and len(read_cases(content[CASES_FILE])) == 4


def test_a_graph_that_differs_from_torch_is_not_exported(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "difference", lambda wanted, found: (1.0, 0.0, 1.0))
    with pytest.raises(MismatchError, match="differs from torch"):
        export.export_bundle(run, tmp_path, load_profile("panda"), "tiny")
    assert not (tmp_path / "bundle.yaml").exists()


def test_an_export_that_is_refused_leaves_what_was_there(run: Path, tmp_path: Path) -> None:
    export.export_bundle(run, tmp_path / "kept", load_profile("panda"), "tiny")
    before = {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()}
    for robot, match in (("panda", "is there already"), ("ur5e", "is there already")):
        with pytest.raises(ConfigError, match=match):
            export.export_bundle(run, tmp_path / "kept", load_profile(robot), "tiny")
    with pytest.raises(MismatchError):
        export.export_bundle(run, tmp_path / "other", load_profile("ur5e"), "tiny")
    assert {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()} == before
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("name", ["run.json", "weights.safetensors", "state.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"{", b"\xff" * 64])
def test_a_torn_run_is_one_clear_error(run: Path, shards: Path, tmp_path: Path, name: str, content: bytes) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(run, torn)
    (torn / name).write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(name)):
        Run(torn, [Part(source=shards)], Recipe(steps=2, batch=4))
    if name != "state.safetensors":
        with pytest.raises(ConfigError, match=re.escape(name)):
            export.export_bundle(torn, tmp_path / "bundle", load_profile("panda"), "tiny")


@pytest.mark.parametrize("name", ["state.npy", "image_scene.npy"])
def test_torn_demonstrations_are_one_clear_error(shards: Path, tmp_path: Path, name: str) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(shards, torn)
    (torn / "seeds-000000" / name).write_bytes(b"\x93NUMPY")
    with pytest.raises(ConfigError, match=re.escape(name)):
        Run(tmp_path / "run", [Part(source=torn)], Recipe(steps=2, batch=4))


def test_weights_that_are_no_numbers_are_neither_saved_nor_exported(run: Path, shards: Path, tmp_path: Path) -> None:
    broken = Run(tmp_path / "run", [Part(source=shards)], Recipe(steps=2, batch=4))
    with torch.no_grad():
        next(broken.model.parameters())[0] = float("nan")
    with pytest.raises(InvalidDataError, match="take a lower learning rate"):
        broken.save()
    assert not (tmp_path / "run" / "weights.safetensors").exists()
    torn = tmp_path / "torn"
    shutil.copytree(run, torn)
    weights = load_file(torn / "weights.safetensors")
    save_file(
        {name: torch.full(value.shape, torch.inf) for name, value in weights.items()}, torn / "weights.safetensors"
    )
    with pytest.raises(ConfigError, match="weights that are no numbers"):
        export.export_bundle(torn, tmp_path / "bundle", load_profile("panda"), "tiny")


def test_export_of_nothing_says_what_makes_a_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tendon policy train"):
        export.export_bundle(tmp_path, tmp_path / "out", load_profile("panda"), "tiny")


def test_sampling_returns_the_given_rows_untouched_and_changes_the_rest() -> None:
    torch.manual_seed(0)
    model = SmallVla(SHAPE, VIEWS, STATISTICS).eval()
    prefix, noise = torch.randn(3, 16, 4), torch.randn(3, 16, 4)
    given = (torch.arange(16) < 5).float().expand(3, 16)
    with torch.no_grad():
        chunk = model.sample(torch.randn(3, 384), prefix, given, noise)
    torch.testing.assert_close(chunk[:, :5], prefix[:, :5])
    assert not torch.equal(chunk[:, 5:], noise[:, 5:])


def test_an_instruction_changes_the_context_and_the_image_grid_does_not_know_it() -> None:
    torch.manual_seed(0)
    model = SmallVla(SHAPE, VIEWS, STATISTICS).eval()
    grids = model.look({name: torch.randint(0, 256, (1, 32, 32, 3)) for name in SHAPE.cameras})
    tokens = torch.tensor([[[2] * 16, [3] * 16]])
    with torch.no_grad():
        context = model.understand(model.point(grids, tokens), torch.zeros(1, 7)).context
    assert not torch.allclose(context[0, 0], context[0, 1])


def test_attention_on_the_point_costs_less_than_attention_elsewhere() -> None:
    where = torch.tensor([[[[0.5, -0.5]]]])
    line = torch.linspace(-1, 1, 16)
    y, x = torch.meshgrid(line, line, indexing="ij")
    right, wrong = (
        (-40 * ((x - cx).square() + (y - cy).square())).flatten()[None, None, None]
        for cx, cy in ((0.5, -0.5), (-0.5, 0.5))
    )
    assert pointing_loss(right, where) < pointing_loss(wrong, where)
    assert pointing_loss(right, torch.tensor([[[[2.0, 0.0]]]])) == 0.0


def test_a_camera_on_the_tool_sees_a_point_move_when_the_tool_moves() -> None:
    view = VIEWS["wrist"]
    point, state = torch.zeros(2, 1, 3), torch.zeros(2, 7)
    state[1, 0] = 0.5
    seen = project(view, point, state)
    torch.testing.assert_close(seen[:, 0], torch.tensor([[0.0, 0.0], [-0.5, 0.0]]))


def test_an_exported_bundle_is_recovered_as_a_run_that_answers_the_same(
    run: Path, exported: Path, tmp_path: Path
) -> None:
    profile, bundle = load_profile("panda"), load_bundle(exported)
    recover_run(bundle, tmp_path / "run", json.loads((run / "run.json").read_text())["cameras"])
    again, _ = export.export_bundle(tmp_path / "run", tmp_path / "second", profile, "tiny")
    shape = Shape(**json.loads((run / "run.json").read_text())["shape"])
    feeds = export.random_cases(shape, bundle.manifest.cameras)[1]
    answers = [load_graph(one.content, "policy.onnx").run(feeds) for one in (bundle, again)]
    assert set(answers[0]) == {"actions", "points", "embedding"}
    for name, value in answers[0].items():
        np.testing.assert_allclose(answers[1][name], value, atol=1e-4)


def test_a_bundle_from_before_the_tool_was_looked_at_answers_as_it_did(
    run: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its matrices lack the columns of the tool's slot: they come as zeros, and training fills them."""
    columns = {"locate.0.weight": 2 * (GRID_WIDTH + 4) + 7, "locate_directly.weight": 4}
    whole = recover._tensors
    narrow = {recover.PREFIX + name: count for name, count in columns.items()}

    def before(model: onnx.ModelProto) -> dict[str, np.ndarray]:
        return {name: value[:, : narrow[name]] if name in narrow else value for name, value in whole(model).items()}

    monkeypatch.setattr(recover, "_tensors", before)
    recover_run(load_bundle(exported), tmp_path, json.loads((run / "run.json").read_text())["cameras"])
    weights, trained = load_file(tmp_path / "weights.safetensors"), load_file(run / "weights.safetensors")
    for name, count in columns.items():
        torch.testing.assert_close(weights[name][:, :count], trained[name][:, :count])
        assert weights[name].shape[1] > count and not weights[name][:, count:].any()


def test_what_the_tool_slot_sees_moves_the_points() -> None:
    """A camera that is a little off is so for the tool, too: seen against the state, it tells by how much."""
    model = SmallVla(SHAPE, VIEWS, STATISTICS).eval()
    grids = model.look({name: torch.randint(0, 256, (1, 32, 32, 3)) for name in SHAPE.cameras})
    with torch.no_grad():
        pointing = model.point(grids, torch.tensor([[[2] * 16]]))
        points = model.understand(pointing, torch.zeros(1, 7)).points
        pointing.found["scene"][:, :, TOOL_SLOT, -2:] += 0.5
        moved = model.understand(pointing, torch.zeros(1, 7)).points
    assert pointing.attention["scene"].shape == (1, 1, 3, 16)
    assert (points - moved).abs().amin() > 1e-6


def test_a_run_with_frozen_norm_leaves_it_alone(shards: Path, run: Path, tmp_path: Path) -> None:
    child = Run(tmp_path / "child", [Part(source=shards)], Recipe(steps=2, batch=4, freeze_norm=True), run)
    before = child.model.trunks["scene"][1].running_mean.clone()
    child.train()
    torch.testing.assert_close(child.model.trunks["scene"][1].running_mean, before)


def test_a_run_from_nothing_is_not_taken_for_one_from_weights(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped folder: training would begin with random weights, and nothing would say so."""
    given = ["--data", str(shards), "--from", str(tmp_path / "missing"), "--out", str(tmp_path / "run")]
    assert main(["policy", "train", *given]) != 0
    assert "nothing to start from at" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_bundle_is_gone_on_from_with_its_norm_frozen_from_run_to_run(
    shards: Path, run: Path, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, first, second = exported, tmp_path / "first", tmp_path / "second"
    options = ["--steps", "1", "--batch", "4"]
    assert main(["policy", "train", "--data", str(shards), "--from", str(bundle), "--out", str(first), *options]) == 0
    assert main(["policy", "train", "--data", str(shards), "--from", str(first), "--out", str(second), *options]) == 0
    records = [json.loads((folder / "run.json").read_text()) for folder in (run, first, second)]
    assert [record["recipe"]["freeze_norm"] for record in records] == [False, True, True]
    assert records[0]["vocabulary"] == records[2]["vocabulary"]
    capsys.readouterr()
    assert (
        main(["policy", "train", "--data", str(tmp_path), "--from", str(bundle), "--out", str(tmp_path / "third")]) != 0
    )
    assert "nothing to learn from at" in capsys.readouterr().err
