"""load.py - a running weir-load (load.c): a namespace that is kept busy and verified by libweir.

Answers: is it still getting on, what was it told, and what came of all of it?
"""
import json
import os
import select
import subprocess
import time

PATIENCE = float(os.environ.get("WEIR_PATIENCE", 1))


class Load:
    def __init__(self, build, uri, *options):
        self.process = subprocess.Popen([f"{build}/tests/vm/weir-load", *options, uri], text=True, bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.unread, self.events = "", []
        self.line("ready")

    def line(self, begins, limit_s=60):
        """The next line that begins so; events before it are kept."""
        deadline = time.monotonic() + limit_s * PATIENCE
        out = self.process.stdout.fileno()
        while True:
            while "\n" in self.unread:
                line, _, self.unread = self.unread.partition("\n")
                if line.startswith("event "):
                    self.events.append(line[len("event "):])
                if line.startswith(begins):
                    return line
            ready, _, _ = select.select([out], [], [], max(0, deadline - time.monotonic()))
            more = os.read(out, 65536).decode() if ready else ""
            if not more:
                self.process.kill()
                raise AssertionError(f"no line '{begins}'; events: {self.events}\n{self.process.communicate()}")
            self.unread += more

    def ask(self, question, answer, limit_s=60):
        self.process.stdin.write(question + "\n")
        return self.line(answer, limit_s)

    def count(self):
        """So many I/Os have ended, one way or another."""
        return int(self.ask("count", "count").split()[1])

    def more(self, count=200):
        """Waits until so many have ended since."""
        self.ask(f"more {count}", "more")

    def event(self, begins, limit_s=60):
        """Waits for an event, unless it has been told since forget()."""
        for line in self.events:
            if line.startswith(begins):
                return line
        return self.line("event " + begins, limit_s)[len("event "):]

    def forget(self):
        """Events so far."""
        self.count()
        self.events.clear()

    def rest(self, watched):
        """Waits until no I/O ends any more and watched() answers the same: what is under way waits."""
        deadline = time.monotonic() + 60 * PATIENCE
        before, now = None, (self.count(), watched())
        while before != now:
            assert time.monotonic() < deadline, "I/O goes on"
            before, now = now, (self.count(), watched())

    def end(self, limit_s=60):
        """All that was written is read once more; what came of everything."""
        result = json.loads(self.ask("end", "{", limit_s))
        _, errors = self.process.communicate(timeout=limit_s * PATIENCE)
        assert self.process.returncode == 0, errors
        assert result["wrong"] == 0, errors
        return result

    def clean(self, limit_s=60):
        """end(), where no I/O may have failed, and none may be lost or done twice."""
        result = self.end(limit_s)
        assert result["failed"] == 0, result
        assert result["ended"] == result["done"], result
        return result

    def kill(self):
        self.process.kill()
        self.process.communicate()
