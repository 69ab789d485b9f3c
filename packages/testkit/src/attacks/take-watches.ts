/** A Python program that makes as many inotify instances as it gets, holds them for 20 seconds, and prints how many. */
export const takeWatches = `
import ctypes, os, time
libc = ctypes.CDLL(None); count = 0
while count < 100000 and libc.inotify_init() >= 0: count += 1
print(count, flush=True)
if os.fork() == 0:
    os.setsid(); os.closerange(0, 3); time.sleep(20); os._exit(0)
`;
