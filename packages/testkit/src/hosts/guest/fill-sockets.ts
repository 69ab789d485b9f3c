/**
 * A Python program that sends up to 2 GiB on connections to itself that nothing reads, as long as the kernel takes it,
 * and prints how many MiB it took. Then it keeps them for as many seconds as its argument says; none when that is empty.
 */
export const fillSockets = `
import socket, sys, time
taken, kept, piece = 0, [], b"x" * 65536
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(1000)
try:
    for count in range(800):
        one = socket.create_connection(server.getsockname()); two, _ = server.accept()
        kept += [one, two]; before = taken
        for end in (one, two):
            end.setblocking(False)
            try:
                while taken < 2 * 2**30: taken += end.send(piece)
            except BlockingIOError: pass
        if taken == before: break
except OSError: pass
print(taken // 2**20, flush=True)
time.sleep(float(sys.argv[1] or 0))
`;
