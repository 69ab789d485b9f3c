# OpenStack Swift with its S3 interface, in one process and one folder, on ports of loopback that the kernel chooses.
# Prints the port of the S3 interface when it accepts, and ends when its input does.
# Arguments: an empty folder, the access key, the secret key.
import os
import sys

import eventlet

eventlet.patcher.monkey_patch()

import eventlet.wsgi
from swift.common import storage_policy, utils
from swift.common.ring import RingBuilder
from swift.common.wsgi import SwiftHttpProtocol, loadapp

folder, access_key, secret_key = sys.argv[1:]
account, user = access_key.split(':')
kinds = ('account', 'container', 'object')


def write(name, *lines):
    path = os.path.join(folder, name)
    with open(path, 'w') as file:
        file.write('\n'.join(lines) + '\n')
    return path


write('swift.conf', '[swift-hash]', 'swift_hash_path_suffix = test')
utils.set_swift_dir(folder)
storage_policy.reload_storage_policies()
os.makedirs(os.path.join(folder, 'devices', 'd1'))
settings = ['[DEFAULT]', 'swift_dir = ' + folder, 'devices = ' + os.path.join(folder, 'devices'),
            'mount_check = false', 'disable_fallocate = true']
pool = eventlet.GreenPool(1000)
silent = open(os.devnull, 'w')


def serve(socket, app):
    pool.spawn_n(eventlet.wsgi.server, socket, app, log=silent, protocol=SwiftHttpProtocol, log_output=False)


for kind in kinds:
    socket = eventlet.listen(('127.0.0.1', 0))
    builder = RingBuilder(1, 1, 0)
    builder.add_dev({'id': 0, 'region': 0, 'zone': 0, 'weight': 1, 'ip': '127.0.0.1', 'device': 'd1',
                     'port': socket.getsockname()[1]})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, kind + '.ring.gz'))
    conf = write(kind + '.conf', *settings, '[pipeline:main]', 'pipeline = ' + kind,
                 '[app:%s]' % kind, 'use = egg:swift#' + kind)
    serve(socket, loadapp(conf))


class Cache:
    """What memcached is to Swift, without a limit and an end."""

    def __init__(self):
        self.values = {}

    def get(self, key, raise_on_error=False):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value

    def delete(self, key, **_):
        self.values.pop(key, None)

    def incr(self, key, delta=1, **_):
        self.values[key] = self.values.get(key, 0) + delta
        return self.values[key]


cache = Cache()
filters = ['s3api', 'tempauth', 'bulk', 'slo']
conf = write('proxy.conf', *settings, '[pipeline:main]', 'pipeline = %s proxy-server' % ' '.join(filters),
             '[app:proxy-server]', 'use = egg:swift#proxy', 'account_autocreate = true',
             *(line for name in filters for line in ('[filter:%s]' % name, 'use = egg:swift#' + name)
               if name != 'tempauth'),
             '[filter:tempauth]', 'use = egg:swift#tempauth', 'user_%s_%s = %s .admin' % (account, user, secret_key))
app = loadapp(conf)


def with_cache(env, start_response):
    env['swift.cache'] = cache
    return app(env, start_response)


socket = eventlet.listen(('127.0.0.1', 0))
serve(socket, with_cache)
print(socket.getsockname()[1], flush=True)
eventlet.tpool.execute(sys.stdin.read)
os._exit(0)
