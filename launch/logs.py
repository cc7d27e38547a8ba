"""The output of a job: what there is, or as it comes until the job ends.

    python -m launch.logs RUN [--follow] [launch=my_cluster]

With --follow it ends with the job's exit code; it does not restart the job.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import EXIT_WRONG_INPUT, refuse
from launch.cluster import connect
from launch.follow import follow
from launch.job import EXIT_STOPPED, ClusterLost, submissions
from launch.settings import read_launch_settings
from launch.status import split_arguments, the_job


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    following = "--follow" in arguments
    overrides, names = split_arguments([text for text in arguments if text != "--follow"])
    if len(names) != 1:
        print("name one run or submission: python -m launch.logs RUN [--follow]", file=sys.stderr)
        return EXIT_WRONG_INPUT
    try:
        launch = read_launch_settings(overrides).launch
        client = connect(launch)
        name = str(the_job(submissions(client), names[0]).submission_id)
    except ConfigError as error:
        return refuse(error.problems)
    if not following:
        print(client.get_job_logs(name), end="")
        return 0
    try:
        return follow(
            client, name, launch, lambda line: print(f"launch: {line}"), lambda text: print(text, end="")
        ).code
    except ClusterLost as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"launch: not following any more; {name} goes on")
        return EXIT_STOPPED


if __name__ == "__main__":
    sys.exit(main())
