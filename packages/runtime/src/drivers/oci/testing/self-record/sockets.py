# Sockets all of whose options are other than usual, and what they are.
import socket, struct, sys

LEVELS = {socket.SOL_SOCKET: 'SO_', socket.IPPROTO_IP: 'IP_', socket.IPPROTO_IPV6: 'IPV6_', socket.IPPROTO_TCP: 'TCP_', 17: 'UDP_', 270: 'NETLINK_'}
# Cork prevents a pause, repair and another family make another socket of it, and path sizes, packet options, counters, cookies and acknowledgments change by themselves.
LEFT_OUT = {(17, 1), (6, 11), (6, 12), (6, 19), (6, 20), (6, 21), (6, 24), (6, 26), (6, 29), (6, 35), (1, 4), (1, 49), (1, 55), (1, 56), (1, 57), (1, 77), (41, 1), (0, 9), (0, 14), (41, 6), (41, 24), (41, 61)}
NAMES = {}
for level, prefix in LEVELS.items():
    for name in dir(socket):
        if name.startswith(prefix):
            NAMES.setdefault((level, getattr(socket, name)), name)


def visit_options(one):
    for level in LEVELS:
        for number in range(1, 100):
            if (level, number) in LEFT_OUT:
                continue
            try:
                yield level, number, one.getsockopt(level, number, 64)
            except OSError:
                pass


def turn(one):
    for level, number, old in list(visit_options(one)):
        if len(old) not in (4, 8):
            continue
        form = 'i' if len(old) == 4 else 'q'
        value = struct.unpack(form, old)[0]
        for other in (value ^ 1, value + 1, value + 8, 1, 2, 100, 5000):
            try:
                one.setsockopt(level, number, struct.pack(form, other))
                if one.getsockopt(level, number, 64) != old:
                    break
            except (OSError, struct.error):
                pass
    for level, number, value in [
        (1, socket.SO_LINGER, struct.pack('ii', 1, 7)), (1, socket.SO_RCVTIMEO, struct.pack('qq', 77, 0)), (1, socket.SO_SNDTIMEO, struct.pack('qq', 78, 0)),
        (6, socket.TCP_CONGESTION, b'reno'), (0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('239.1.2.3') + socket.inet_aton('127.0.0.1')),
        (0, socket.IP_TOS, struct.pack('i', 16)), (1, socket.SO_PRIORITY, struct.pack('i', 4)), (1, socket.SO_BINDTODEVICE, b'lo'),
    ]:
        try:
            one.setsockopt(level, number, value)
        except OSError:
            pass


kept = {}


def hold():
    def make(name, family, kind, protocol=0):
        try:
            kept[name] = socket.socket(family, kind, protocol)
        except OSError:
            return None
        return kept[name]

    def serve(name, family, address):
        server = make(name + ' listener', family, socket.SOCK_STREAM)
        server.bind(address)
        server.listen(7)
        client = make(name + ' client', family, socket.SOCK_STREAM)
        client.connect(server.getsockname())
        kept[name + ' accepted'] = server.accept()[0]

    serve('tcp', socket.AF_INET, ('127.0.0.1', 7001))
    serve('tcp6', socket.AF_INET6, ('::1', 7002))
    serve('abstract', socket.AF_UNIX, '\0kept')
    make('tcp new', socket.AF_INET, socket.SOCK_STREAM)
    make('udp', socket.AF_INET, socket.SOCK_DGRAM).bind(('127.0.0.1', 7003))
    make('udp6', socket.AF_INET6, socket.SOCK_DGRAM).bind(('::1', 7004))
    for name, kind in [('stream', socket.SOCK_STREAM), ('datagram', socket.SOCK_DGRAM), ('packets', socket.SOCK_SEQPACKET)]:
        kept['pair ' + name], kept['pair end ' + name] = socket.socketpair(socket.AF_UNIX, kind)
    make('ping', socket.AF_INET, socket.SOCK_DGRAM, 1)
    make('netlink', socket.AF_NETLINK, socket.SOCK_RAW, 0)
    if sys.argv[1] != 'gvisor':
        make('path', socket.AF_UNIX, socket.SOCK_STREAM).bind('/root/socket')
        kept['path'].listen()
    for one in kept.values():
        turn(one)
    return {'socket ' + name: one.fileno() for name, one in kept.items()} | {'udp': kept['udp'].fileno()}


def visit(held):
    for name, one in kept.items():
        for level, number, value in visit_options(one):
            yield 'socket %s %s' % (name, NAMES.get((level, number), '%s%d' % (LEVELS[level], number))), value.hex()
        for what in ('getsockname', 'getpeername'):
            try:
                yield 'socket %s %s' % (name, what), str(getattr(one, what)())
            except OSError as error:
                yield 'socket %s %s' % (name, what), 'failed: %d' % error.errno
