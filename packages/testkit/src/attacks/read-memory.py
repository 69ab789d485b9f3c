# Run inside, as root: reads the memory of every other process, or of those whose ids follow the secrets, and prints as one JSON object which of the given secrets are in it. Each
# secret comes in two halves, which nothing here but the memory of this process ever joins: a search must not plant what it looks for.
import array, json, os, re, sys

CHUNK_BYTES = 1 << 20
EMPTY = bytes(CHUNK_BYTES)
PAGE_BYTES = os.sysconf('SC_PAGESIZE')
# What the edge sends to the agent, so that its nonces can be tried elsewhere.
NONCE = re.compile(rb'(?:full|signature) ([0-9a-f]{64})')

forms = {}
for name, halves in json.loads(sys.argv[1]).items():
    text = ''.join(halves)
    forms[name] = [text.encode(), text.encode('utf-16-le')]
    if re.fullmatch('(?:[0-9a-f]{2}){16,}', text):
        forms[name].append(bytes.fromhex(text))
overlap = max(len(form) for each in forms.values() for form in each)

found = {name: [] for name in forms}
nonces, names, size = set(), [], 0

try:
    # gVisor's kernel lets root read its children alone, until root says otherwise.
    with open('/proc/sys/kernel/yama/ptrace_scope', 'w') as scope:
        scope.write('0')
except FileNotFoundError:
    pass


def readable(pid):
    for line in open(f'/proc/{pid}/maps'):
        area, access, _, _, _, *path = line.split(maxsplit=5)
        backed = path and path[0].startswith('/')
        # A file that is mapped without the right to write holds what the file holds.
        if 'r' in access and not (backed and 'w' not in access):
            start, end = (int(bound, 16) for bound in area.split('-'))
            yield from present(pid, start, end)


# The parts that have pages: most of what is mapped was never touched. gVisor does not say which.
def present(pid, start, end):
    try:
        with open(f'/proc/{pid}/pagemap', 'rb', buffering=0) as pages:
            pages.seek(start // PAGE_BYTES * 8)
            entries = array.array('Q', pages.read((end - start) // PAGE_BYTES * 8))
    except OSError:
        yield start, end
        return
    first = None
    for index, entry in enumerate([*entries, 0]):
        # In memory or in swap.
        if entry >> 62:
            first = index if first is None else first
        elif first is not None:
            yield start + first * PAGE_BYTES, start + index * PAGE_BYTES
            first = None


def pieces(pid):
    with open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory:
        for start, end in readable(pid):
            kept = b''
            while start < end:
                try:
                    memory.seek(start)
                    read = memory.read(min(CHUNK_BYTES, end - start))
                except (OSError, OverflowError, ValueError):
                    break  # What the kernel maps for itself, such as [vvar].
                if not read:
                    break
                start += len(read)
                is_empty = read == EMPTY[:len(read)]
                yield len(read), b'' if is_empty else kept + read
                kept = read[-overlap:]


for pid in sorted(int(name) for name in (sys.argv[2:] or os.listdir('/proc')) if name.isdigit()):
    if pid == os.getpid():
        continue
    try:
        name = open(f'/proc/{pid}/comm').read().strip()
        for length, piece in pieces(pid):
            size += length
            nonces.update(match.decode() for match in NONCE.findall(piece))
            for secret, each in forms.items():
                if any(form in piece for form in each) and f'{pid} {name}' not in found[secret]:
                    found[secret].append(f'{pid} {name}')
        names.append(f'{pid} {name}')
    except (FileNotFoundError, ProcessLookupError):
        pass  # It has just ended.

print(json.dumps({'found': found, 'nonces': sorted(nonces), 'names': names, 'sizeBytes': size}))
