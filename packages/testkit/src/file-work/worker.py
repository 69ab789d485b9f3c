"""Carries out file operations, one JSON array a line on stdin, below the folders that are its arguments; then prints
every entry of those folders, one JSON object a line, ordered by path. Rests for PACE_SECONDS after each operation."""
import hashlib, json, mmap, os, stat, sys, time

def write(path, offset, text):
    with open(path, 'r+b' if os.path.exists(path) else 'w+b') as file:
        file.seek(offset)
        file.write(text.encode())

def remove(path):
    os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

mappings = []

def mapped(path, offset, text):
    """One half now, the other through the same mapping just before the next operation."""
    with open(path, 'r+b') as file:
        memory = mmap.mmap(file.fileno(), 0)
    half = len(text) // 2
    memory[offset:offset + half] = text[:half].encode()
    mappings.append((memory, offset + half, text[half:]))

def finish_mapping():
    while mappings:
        memory, offset, text = mappings.pop()
        memory[offset:offset + len(text)] = text.encode()
        memory.close()

work = {
    'write': write,
    'append': lambda path, text: write(path, os.path.getsize(path), text),
    'mapped': mapped,
    'truncate': os.truncate,
    'mkdir': os.mkdir,
    'remove': remove,
    'rename': os.rename,
    'link': os.link,
    'symlink': lambda target, path: os.symlink(target, path),
    'chmod': os.chmod,
    'chown': os.lchown,
    'setxattr': lambda path, name, value: os.setxattr(path, name, value.encode()),
    'removexattr': os.removexattr,
}

pace = float(os.environ.get('PACE_SECONDS', '0'))
for line in sys.stdin:
    finish_mapping()
    name, *args = json.loads(line)
    work[name](*args)
    time.sleep(pace)
finish_mapping()

def describe(path):
    found = os.lstat(path)
    entry = {'path': path, 'mode': stat.S_IMODE(found.st_mode), 'uid': found.st_uid, 'gid': found.st_gid}
    if stat.S_ISREG(found.st_mode):
        with open(path, 'rb') as file:
            data = file.read()
        entry.update(type='file', sizeBytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        if found.st_nlink > 1:
            entry['same'] = found.st_ino
    elif stat.S_ISLNK(found.st_mode):
        entry.update(type='symlink', target=os.readlink(path))
    else:
        entry.update(type='directory')
    if not stat.S_ISLNK(found.st_mode):
        attributes = {name: os.getxattr(path, name).decode() for name in sorted(os.listxattr(path))}
        if attributes:
            entry['xattrs'] = attributes
    return entry

def walk(path):
    entry = describe(path)
    yield entry
    if entry['type'] == 'directory':
        for name in sorted(os.listdir(path)):
            yield from walk(path + '/' + name)

for root in sys.argv[1:]:
    for entry in walk(root):
        print(json.dumps(entry, sort_keys=True))
