// Dockerfiles of public projects, as Debian's source packages have them. They are fetched, since they are not ours to copy.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Source packages of Debian 13, some 250 MB. */
const sources = [
  'ansible containerd docker-buildx docker-compose docker.io erlang etcd freeradius gdal glances httpie jupyterhub kafkacat',
  'minio-client mosquitto nats-server nodejs pandas prometheus prometheus-alertmanager prometheus-blackbox-exporter',
  'prometheus-mysqld-exporter prometheus-postgres-exporter protobuf puma rabbitmq-server radicale rails restic runc suricata',
  'syncthing thrift tomcat10 varnish zookeeper',
].flatMap((names) => names.split(' '));

/** Files of tests of parsers, many of them faulty on purpose. */
const isFaulty = /\/testfiles/;

/** Texts that a program of the project turns into a Dockerfile, documents about Dockerfiles, and files for Windows. */
const isOther = (path: string): boolean =>
  /\.(?:in|j2|m4|md|nanorc|template|tmLanguage|tmPreferences|tmpl|tt|txt)$|[._]windows/i.test(path) ||
  /CROSS_BUILD_COPY|\{\{/.test(readFileSync(path, 'utf8'));

const folder = mkdtempSync(join(tmpdir(), 'skerry-dockerfiles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs apt-get with its own lists: those of this host have no sources. */
const aptGet = (...args: string[]): void => {
  const settings = [
    `Dir::Etc::sourcelist=${folder}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    'APT::Sandbox::User=root',
  ];
  execFileSync('apt-get', [...settings.flatMap((setting) => ['-o', setting]), '-qq', ...args], {
    cwd: folder,
    stdio: 'pipe',
  });
};

beforeAll(() => {
  writeFileSync(join(folder, 'sources.list'), 'deb-src http://deb.debian.org/debian trixie main\n');
  for (const name of ['lists/partial', 'cache']) mkdirSync(join(folder, name), { recursive: true });
  aptGet('update');
  aptGet('source', '--tar-only', '--download-only', ...sources);
  for (const archive of globSync('*.orig*.tar.*', { cwd: folder })) {
    if (archive.endsWith('.asc')) continue;
    const target = join(folder, 'files', archive);
    mkdirSync(target, { recursive: true });
    const run = (args: string[], input = ''): string =>
      execFileSync('tar', ['-f', archive, ...args], {
        cwd: folder,
        input,
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
    const names = run(['-t'])
      .split('\n')
      .filter((name) => /Dockerfile[^/]*$/.test(name) && !isFaulty.test(name));
    if (names.length > 0) run(['-x', '-C', target, '-T', '-'], names.join('\n'));
  }
});

/** The reason for which the service does not take the file, or undefined. A project passes the arguments that FROM needs without a default. */
const findRefusal = (path: string): string | undefined => {
  const text = `${readFileSync(path, 'utf8')}\n`;
  const names = [...text.matchAll(/^FROM .*/gim)].flatMap(([line]) =>
    [...line.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name),
  );
  const declared = names.filter((name) => new RegExp(`^ARG ${name}\\s*$`, 'im').test(text));
  const buildArgs = Object.fromEntries(declared.map((name) => [name, 'debian:13']));
  try {
    Template.fromDockerfile(text, { platform: 'linux/amd64', buildArgs, fetchUrls: true });
    return undefined;
  } catch (error) {
    return String(error);
  }
};

it('takes at least 170 of 190 Dockerfiles of public projects, and refuses the others by line', () => {
  const files = globSync('files/**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !isOther(path));
  const different = new Map(
    files.map((path) => [createHash('sha256').update(readFileSync(path)).digest('hex'), path]),
  );
  const refusals = [...different.values()].flatMap((path) => {
    const refusal = findRefusal(path);
    return refusal === undefined ? [] : [`${path.slice(folder.length)}: ${refusal}`];
  });
  console.log([`accepted ${different.size - refusals.length} of ${different.size}`, ...refusals].join('\n'));
  expect(different.size).toBeGreaterThanOrEqual(190);
  for (const refusal of refusals) expect(refusal).toMatch(/: DockerfileError: line \d+: /);
  expect(refusals.length / different.size).toBeLessThanOrEqual(20 / 190);
});
