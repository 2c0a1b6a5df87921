"""An executor whose worker has another working directory, and sees other files."""

import contextlib
import pickle
from concurrent.futures import Executor, Future
from pathlib import Path


class Elsewhere(Executor):
    """Executor that runs each task at once, in another folder, as a worker in another process would run it."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.folder, self.sizes = folder, []  # sizes: the number of files in each task
        self._max_workers = threads

    def submit(self, task, /, *arguments):
        future = Future()
        task, arguments = pickle.loads(pickle.dumps((task, arguments)))
        if arguments and isinstance(arguments[0], list):
            self.sizes.append(len(arguments[0]))
        with contextlib.chdir(self.folder):
            try:
                future.set_result(pickle.loads(pickle.dumps(task(*arguments))))
            except Exception as error:  # noqa: BLE001 (it goes to the future)
                future.set_exception(error)
        return future
