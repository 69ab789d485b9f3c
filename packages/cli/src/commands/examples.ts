import type { Command } from 'commander';

/** Of each command that does something, by its words: lines as a user types them. `ID` is the id of a sandbox. */
const examples: Record<string, readonly string[]> = {
  up: [
    'sudo skerry up',
    'skerry up --port 0 --warm-min 2 --warm-max 8',
    'skerry up --json --isolation gvisor',
  ],
  server: [
    'skerry server --node a=10.0.0.1:7443 --node b=10.0.0.2:7443',
    'skerry server --nodes nodes.txt --blobs /mnt/shared/blobs',
  ],
  node: ['skerry node --listen 10.0.0.1:7443', 'skerry node --listen 10.0.0.1:7443 --max-sandboxes 200'],
  'node cert': ['skerry node cert platform a b', 'skerry node cert --renew --days 90 a'],
  'node authority': ['skerry node authority --namespace skerry --days 90'],
  'node request': ['skerry node request --dir /var/lib/skerry/certificate'],
  'tls init': ['skerry tls init --domain boxes.example.com', 'skerry tls init --renew'],
  'node list': ['skerry node ls', 'skerry node ls --json'],
  'node cordon': ['skerry node cordon a b'],
  'node uncordon': ['skerry node uncordon a b'],
  'node drain': ['skerry node drain a'],
  'node forget': ['skerry node forget a'],
  down: ['skerry down', 'skerry down --deadline 5 --data ./data'],
  doctor: ['skerry doctor', 'skerry doctor --json --data /srv/skerry'],
  create: ['skerry create python', 'skerry create --timeout 1h --on-end kill', 'skerry create --auto-resume'],
  run: [`skerry run -- python3 -c 'print("hello")'`, 'skerry run python -- pip list', 'skerry run -t node'],
  exec: ['skerry exec ID -- ls -l', 'skerry exec -t ID'],
  cp: ['skerry cp ./project ID:', 'skerry cp ID:report.html .'],
  ls: ['skerry ls', 'skerry ls -q --state paused'],
  logs: ['skerry logs ID', 'skerry logs -f -t ID'],
  rm: ['skerry rm ID1 ID2', 'skerry rm --all'],
  status: ['skerry status', 'skerry status --json'],
  env: ['eval "$(skerry env)"', 'eval "$(skerry env --e2b)"'],
  'sandbox create': [
    'skerry sandbox create --timeout 1h',
    'skerry sandbox create -e TOKEN --metadata owner=me --no-internet python',
  ],
  'sandbox run': [
    `skerry sandbox run -- python3 -c 'print("hello")'`,
    'skerry sandbox run python -- pip list',
    'skerry sandbox run -i --no-internet -- bash < script.sh',
    'skerry sandbox run -t',
  ],
  'sandbox list': ['skerry sandbox ls', 'skerry sandbox ls -q --state paused --metadata owner=me'],
  'sandbox info': ['skerry sandbox info ID', 'skerry sandbox info --json ID'],
  'sandbox exec': [
    `skerry sandbox exec ID -- python3 -c 'print("hello")'`,
    'skerry sandbox exec -d ID -- python3 -m http.server 8000',
    'skerry sandbox exec -i ID -- sort < names.txt',
    'skerry sandbox exec --json --timeout 10s ID -- make test',
    'skerry sandbox exec -t -u root ID',
  ],
  'sandbox connect': ['skerry sandbox connect ID', 'skerry sandbox connect -u root -C /srv --keep-alive ID'],
  'sandbox cp': [
    'skerry sandbox cp data.csv ID:/home/user/',
    'skerry sandbox cp ./project ID:project',
    'skerry sandbox cp ID:/home/user/report.html .',
  ],
  'sandbox url': ['skerry sandbox url ID 8080'],
  'sandbox port open': ['skerry sandbox port open ID 8080', 'skerry sandbox port open --local 0 ID 8080'],
  'sandbox logs': ['skerry sandbox logs -f ID', 'skerry sandbox logs -t --search error ID'],
  'sandbox events': ['skerry sandbox events -f ID', 'skerry sandbox events --level warn --search exit ID'],
  'sandbox metrics': ['skerry sandbox metrics ID', 'skerry sandbox metrics -w --json ID'],
  'sandbox explain': ['skerry sandbox explain ID'],
  'sandbox pause': ['skerry sandbox pause ID', 'skerry sandbox pause --no-memory ID1 ID2'],
  'sandbox resume': ['skerry sandbox resume --timeout 1h ID'],
  'sandbox fork': ['skerry sandbox fork ID', 'skerry sandbox fork --count 8 --timeout 10m ID'],
  'sandbox kill': ['skerry sandbox kill ID1 ID2', 'skerry sandbox kill --all'],
  'snapshot create': ['skerry snapshot create --name prepared ID', 'skerry snapshot create --no-memory ID'],
  'snapshot list': ['skerry snapshot ls', 'skerry snapshot ls -q --sandbox ID'],
  'snapshot verify': ['skerry snapshot verify prepared'],
  'snapshot diff': ['skerry snapshot diff ID', 'skerry snapshot diff prepared ID'],
  'snapshot log': ['skerry snapshot log prepared'],
  'snapshot delete': ['skerry snapshot delete prepared'],
  'template build': [
    'skerry template build web ./project',
    'skerry template build --from python:3.13-slim --memory 2048 python',
    'skerry template build --ready-made coding-agent',
  ],
  'template list': ['skerry template ls', 'skerry template ls --json'],
  'template show': ['skerry template show web'],
  'template logs': ['skerry template logs -f web'],
  'template tag': ['skerry template tag web stable', 'skerry template tag -d web stable'],
  'template delete': ['skerry template delete web', 'skerry template delete web:v1'],
  'template cache list': ['skerry template cache ls'],
  'template cache remove': ['skerry template cache rm KEY'],
  'template cache prune': ['skerry template cache prune --unused-for 24h'],
  'image load': ['skerry image load --name web web.tar', 'docker save web | skerry image load --name web -'],
  'image save': ['skerry image save web -o web.tar'],
  'system df': ['skerry system df', 'skerry system df -q'],
  'system prune': ['skerry system prune', 'skerry system prune --all --force'],
  'context add': [
    'skerry context add work --api-url https://api.example.com',
    'skerry context add lab --api-url http://10.0.0.1:4000 --domain lab.example.com',
  ],
  'context list': ['skerry context ls'],
  'context use': ['skerry context use work', 'skerry context use --none'],
  'context remove': ['skerry context rm work'],
  completion: ['source <(skerry completion bash)', 'skerry completion fish > skerry.fish'],
};

/** Adds the examples to the help of each command below this one. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const lines = examples[path.join(' ')];
  if (lines !== undefined)
    command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  for (const child of command.commands) addExamples(child, [...path, child.name()]);
}
