"""Stop jobs: the current step ends, a checkpoint is written, the job ends; submitting the run again goes on from there.

    python -m launch.stop RUN... [launch=my_cluster]

Who follows the job with `launch.submit` does not restart it after this.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import EXIT_WRONG_INPUT, refuse
from launch.cluster import connect
from launch.job import submissions
from launch.settings import read_launch_settings
from launch.status import split_arguments, the_job


def main(arguments: Sequence[str] | None = None) -> int:
    overrides, names = split_arguments(sys.argv[1:] if arguments is None else arguments)
    if not names:
        print("name the runs or submissions to stop: python -m launch.stop RUN...", file=sys.stderr)
        return EXIT_WRONG_INPUT
    try:
        launch = read_launch_settings(overrides).launch
        client = connect(launch)
        jobs = submissions(client)
        found = [str(the_job(jobs, name).submission_id) for name in names]
    except ConfigError as error:
        return refuse(error.problems)
    for name in found:
        asked = client.stop_job(name)
        print(
            f"{name}: " + ("stopping, at most launch.stop_wait_s of its submission" if asked else "had ended already")
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
