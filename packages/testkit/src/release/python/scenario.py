"""What a program does with the client. Run by python-client.test.ts, which names the server in the environment."""

import threading
import time
import unittest

from e2b import CommandExitException, NotFoundException, Sandbox, TimeoutException


def until(condition):
    """Waits for what happens by itself, and returns its value."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen within a minute")


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(timeout=600, metadata={"made by": "pythön & co"}, envs={"COLOUR": "green"})

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.kill()

    def test_lists_and_describes_the_sandbox(self):
        listed = Sandbox.list(metadata={"made by": "pythön & co"})
        self.assertIn(self.sandbox.sandbox_id, [entry["sandboxID"] for entry in listed])
        self.assertEqual(self.sandbox.get_info()["metadata"], {"made by": "pythön & co"})
        self.assertTrue(self.sandbox.is_running())
        self.sandbox.set_timeout(600)

    def test_streams_the_output_of_a_command(self):
        pieces = []
        result = self.sandbox.commands.run(
            "echo $COLOUR $SHAPE; pwd; echo late >&2", envs={"SHAPE": "round"}, cwd="/tmp", on_stdout=pieces.append
        )
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("green round\n/tmp\n", "late\n", 0))
        self.assertEqual("".join(pieces), result.stdout)

    def test_raises_the_exit_code_with_the_output(self):
        with self.assertRaises(CommandExitException) as caught:
            self.sandbox.commands.run("echo oops >&2; exit 3", user="root")
        self.assertEqual((caught.exception.exit_code, caught.exception.stderr), (3, "oops\n"))

    def test_ends_a_command_at_its_timeout(self):
        with self.assertRaises(TimeoutException):
            self.sandbox.commands.run("sleep 600", timeout=1)

    def test_connects_to_a_command_in_the_background(self):
        handle = self.sandbox.commands.run("sleep 600", background=True)
        self.assertIn(handle.pid, [process["pid"] for process in self.sandbox.commands.list()])
        second = self.sandbox.commands.connect(handle.pid)
        self.sandbox.commands.run("true")
        handle.kill()
        with self.assertRaises(CommandExitException):
            second.wait()

    def test_writes_reads_lists_and_removes_files(self):
        self.sandbox.files.write("notes/größe.txt", "zwölf\n")
        self.assertEqual(self.sandbox.files.read("notes/größe.txt"), "zwölf\n")
        (entry,) = self.sandbox.files.list("notes")
        self.assertEqual((entry["name"], entry["type"], int(entry["size"])), ("größe.txt", "FILE_TYPE_FILE", 7))
        self.sandbox.files.remove("notes")
        self.assertFalse(self.sandbox.files.exists("notes"))
        with self.assertRaises(NotFoundException):
            self.sandbox.files.read("notes/größe.txt")

    def test_watches_a_folder(self):
        watcher = self.sandbox.files.watch_dir("/tmp")
        self.sandbox.files.write("/tmp/seen.txt", "1")
        events = until(watcher.get_new_events)
        self.assertIn(("seen.txt", "EVENT_TYPE_CREATE"), [(event["name"], event["type"]) for event in events])
        watcher.stop()

    def test_keeps_processes_through_a_pause(self):
        with Sandbox.create() as sandbox:
            pid = sandbox.commands.run("sleep 600", background=True, timeout=0).pid
            sandbox.pause()
            self.assertFalse(sandbox.is_running())
            again = Sandbox.connect(sandbox.sandbox_id)
            self.assertIn(pid, [process["pid"] for process in again.commands.list()])

    def test_is_not_running_after_its_kill(self):
        sandbox = Sandbox.create()
        self.assertTrue(sandbox.kill())
        self.assertFalse(sandbox.kill())
        self.assertFalse(sandbox.is_running())
        with self.assertRaises(TimeoutException):
            sandbox.commands.run("true")


class Killed(unittest.TestCase):
    """A kill from elsewhere while a command runs: the body of the answer ends complete, with the error of a sandbox that is gone."""

    def expect_killed(self, command, kill):
        with Sandbox.create() as sandbox:
            handle = sandbox.commands.run(command, background=True, timeout=0)
            begun = threading.Event()
            killer = threading.Thread(target=lambda: (begun.wait(60), kill(sandbox)))
            killer.start()
            with self.assertRaises(TimeoutException) as caught:
                handle.wait(on_stdout=lambda _chunk: begun.set())
            killer.join()
            self.assertRegex(str(caught.exception), "^unavailable: ")
            self.assertFalse(sandbox.is_running())

    def test_a_command_without_further_output(self):
        self.expect_killed("echo begun; exec sleep 600", lambda sandbox: sandbox.kill())

    def test_a_command_with_output_at_each_moment(self):
        for _ in range(12):
            self.expect_killed("yes", lambda sandbox: sandbox.kill())

    def test_a_pause(self):
        self.expect_killed("echo begun; exec sleep 600", lambda sandbox: sandbox.pause())


if __name__ == "__main__":
    unittest.main()
