import { expect } from 'vitest';
import { atEachLevel } from './attack.ts';
import { attackers, runPython } from './run-python.ts';

/** Opens what the tables of mounts and descriptors name outside, and writes to what the host has put inside. */
const program = `
import errno, glob, json, os
found = {}
def attempt(name, act):
    try: act(); found[name] = "through"
    except OSError as error: found[name] = errno.errorcode.get(error.errno, str(error))
named = set()
for line in open("/proc/self/mountinfo"):
    words = line.split(); named.update(word for word in [words[3]] + line.split(" - ")[1].replace(",", " ").replace("=", " ").replace(":", " ").split() if word.startswith("/"))
for link in glob.glob("/proc/[0-9]*/fd/3"):
    try: named.add(os.readlink(link))
    except OSError: pass
inside = {"/", "/dev", "/proc", "/sys", "/pts", "/shm", "/null", "/tmp", "/run"}
for path in sorted(named - inside):
    if path.startswith("/") and "sandboxes" in path: attempt("open " + path, lambda: os.open(path, os.O_RDONLY))
boot = "/proc/sys/kernel/random/boot_id"
def write(path): os.write(os.open(path, os.O_WRONLY | os.O_TRUNC), b"x")
for path in (boot, "/.envd/node", "/.envd/app/main.js", "/.envd/tini"): attempt("write " + path, lambda: write(path))
def device():
    os.mknod("/run/envd/device", 0o20666, os.makedev(1, 1)); os.open("/run/envd/device", os.O_RDONLY)
attempt("make a device in /run/envd", device)
def execute():
    open("/run/envd/run", "w").write("#!/bin/sh\\n"); os.chmod("/run/envd/run", 0o755); os.execv("/run/envd/run", ["run"])
pid = os.fork()
if pid == 0:
    try: execute()
    except OSError: os._exit(7)
    os._exit(0)
found["run a program in /run/envd"] = "through" if os.waitpid(pid, 0)[1] == 0 else "refused"
print(json.dumps(found))
`;

atEachLevel(({ open, attack }) => {
  attack(
    'using what the tables of mounts and descriptors name of the host, or changing what it has put inside',
    'mounts that are read-only, nosuid, nodev, noexec, and a root of its own',
    async () => {
      const sandbox = await open();
      for (const user of attackers) {
        const found = JSON.parse(await runPython(sandbox, user, program)) as Record<string, string>;
        expect(Object.keys(found).length).toBeGreaterThan(4);
        expect(Object.entries(found).filter(([, outcome]) => outcome === 'through')).toEqual([]);
      }
      expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n');
    },
  );
});
