"""Adds the start-up hook `patternrl_cpu.pth` to the wheel: setuptools has no setting for a file in site-packages."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStartupHook(build_py):
    """Copies the `.pth` file beside the package: pip installs it, records it and removes it with the package."""

    hook = "patternrl_cpu.pth"

    def run(self) -> None:
        super().run()
        self.copy_file(self.hook, str(Path(self.build_lib) / self.hook))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / self.hook)]


setup(cmdclass={"build_py": BuildWithStartupHook})
