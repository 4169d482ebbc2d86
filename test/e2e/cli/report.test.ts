import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tagsIn } from '../../kit/judges/markup.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

const troupe = (args: string[], env = {}) =>
  runCommand(workspace, args, { env });

/** A rehearsal agent that has ended; its id. */
async function rehearsed(
  script: string,
  flags: string[] = [],
  env = {}
): Promise<string> {
  const args = ['run', 'rehearsal', script, '--access', 'write', '--json'];
  const run = await troupe([...args, ...flags], env);
  return JSON.parse(run.stdout).agent_id;
}

/** The words of a page, as a reader sees them. */
function wordsOf(page: string): string {
  return page
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, '\n')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\n\s*/g, '\n');
}

test('a report has what an agent was asked, did, changed and answered', async () => {
  const id = await rehearsed('say hello\nwrite src/new.txt first line');
  const { code, stdout, stderr } = await troupe(['report', id.slice(0, 5)]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const words = wordsOf(stdout);
  for (const part of [
    ...[`troupe report \n${id}\n`, '\ncompleted\n', 'Rehearsal (script)'],
    ...['\nAccess\nwrite (enforced)\n', '\nCost\n$0\n', '\nExit code\n0\n'],
    ...['\nsay hello\nwrite src/new.txt first line\n', 'wrote src/new.txt'],
    ...['\nedits\nwrite\n', '\nChanges (1 file)\n', '\nsrc/new.txt\nadded\n+1'],
    ...['\n+\nfirst line\n', '\nAudit log\n', '\nspawned\n', 'Times are in UTC']
  ])
    expect(words).toContain(part);
  expect(tagsIn(stdout).strange).toEqual([]);
});

test('hostile words stay words in prompt, answer, file names, diff and error', async () => {
  const script = [
    'say </pre></details><script>alert(1)</script>',
    'write <img/src=x\u00a0onerror=alert(2)>.txt </code></div><svg onload=alert(3)>',
    'progress "><iframe src=javascript:alert(4)>',
    'say \u202egnihtemos \u001b[2J',
    'permit </style><base href=//x>',
    "fail provider_error <a href='javascript:alert(5)'>"
  ].join('\n');
  const id = await rehearsed(script);
  const { code, stdout } = await troupe(['report', id]);
  expect(code).toBe(0);
  const { names, strange } = tagsIn(stdout);
  expect(strange).toEqual([]);
  expect(names).toContain('details');
  expect(stdout).not.toMatch(/[\u001b\u202e]/);
  const words = wordsOf(stdout);
  for (const said of [
    '</pre></details><script>alert(1)</script>',
    '<img/src=x\u00a0onerror=alert(2)>.txt',
    '</code></div><svg onload=alert(3)>',
    "<a href='javascript:alert(5)'>"
  ])
    expect(words).toContain(said);
});

test('secrets are in no part of a report', async () => {
  const known = 'correct-horse-battery-7';
  const token = `ghp_${'a1B2'.repeat(10)}`;
  const key = [
    '-----BEGIN PRIVATE KEY-----',
    'MIIEvgIBADANBgkqhkiG9w0BAQEFAASC',
    '-----END PRIVATE KEY-----'
  ];
  workspace.write('key.pem', 'old\n');
  workspace.commit('more');
  const env = { OPENAI_API_KEY: known };
  const id = await rehearsed(
    [
      `say ${known} and ${token}`,
      `write ${known}.txt ${token}`,
      `progress ${known}`,
      `fail auth refused ${token} ${known}`
    ].join('\n'),
    [],
    env
  );
  const { stdout } = await troupe(['report', id], env);
  expect(stdout).toContain('[redacted]');
  for (const secret of [known, token]) expect(stdout).not.toContain(secret);
  const script = `printf '%s\\n' ${key.map((line) => `'${line}'`).join(' ')} >key.pem; cat key.pem`;
  const run = await troupe(['run', 'shell', script, '--json']);
  const other = await troupe(['report', JSON.parse(run.stdout).agent_id]);
  expect(other.code).toBe(0);
  expect(other.stdout).not.toContain('MIIEvgIBADANBgkqhkiG9w0BAQEFAASC');
});

test('a failed agent has its error with what to do, and unknown costs are no 0', async () => {
  const id = await rehearsed('fail rate_limited Slow down, please.');
  const words = wordsOf((await troupe(['report', id])).stdout);
  expect(words).toContain('What went wrong\nSlow down, please.\nrate_limited');
  expect(words).toContain('start fewer at once');
  expect(words).toContain('\nCost\nunknown\n');
  expect(words).toContain('\nTokens\nunknown\n');
});

test('an agent that continues another one is linked both ways', async () => {
  const first = await rehearsed('say one');
  const second = await troupe(['continue', first, 'say two', '--json']);
  const id = JSON.parse(second.stdout).agent_id;
  const page = async (agent: string) =>
    wordsOf((await troupe(['report', agent])).stdout);
  expect(await page(first)).toContain(`Continued by\n${id}\n`);
  expect(await page(id)).toContain(`Continues\n${first}\n`);
});

test('a program without a transcript has its answer and its changes', async () => {
  const run = await troupe(['run', 'shell', 'echo x >>readme.txt; echo done']);
  const [, id = ''] = /troupe diff ([0-9a-f]{8})/.exec(run.stderr) ?? [];
  const words = wordsOf((await troupe(['report', id])).stdout);
  expect(words).toContain('\nAnswer\ndone\n');
  expect(words).toContain('\nreadme.txt\n+1');
  expect(words).not.toContain('Transcript');
});

test('an agent at work is reported as it stands, with exit code 3', async () => {
  const running = startCommand(workspace, [
    ...['run', 'rehearsal', 'progress reading\nhang', '--access', 'read']
  ]);
  const [, id = ''] = await running.says('stderr', /([0-9a-f]{8})/);
  let stdout = '';
  await until('what it does is in its report', async () => {
    const result = await troupe(['report', id]);
    stdout = wordsOf(result.stdout);
    expect(result.code).toBe(3);
    expect(result.stderr).toContain('The report is of now.');
    return stdout.includes('reading');
  });
  expect(stdout).toContain('The agent is running.');
  await troupe(['cancel', id]);
  await running.exited;
});

test('a transcript of many steps has the newest, and says so', async () => {
  const steps = [...Array(600).keys()].map((step) => `say step ${step}`);
  writeFileSync(join(workspace.path, 'script.txt'), steps.join('\n'));
  const run = await runCommand(
    workspace,
    ['run', 'rehearsal', '-', '--access', 'read', '--json'],
    { stdin: steps.join('\n') }
  );
  const { stdout } = await troupe(['report', JSON.parse(run.stdout).agent_id]);
  const words = wordsOf(stdout);
  expect(words).toContain('Earlier steps are left out.');
  expect(words).toContain('\nstep 599\n');
  expect(words.match(/\ncalls\n/g)).toHaveLength(499);
});

test.each([
  ['report', '12345678'],
  ['report', '../../etc']
])('%s %s is the usual error, and prints no page', async (...args) => {
  const { code, stdout, stderr } = await troupe(args);
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toContain('See: troupe list');
});

test('a report counts as reading the result', async () => {
  const started = await troupe([
    ...['run', 'rehearsal', 'say hello', '--background', '--json']
  ]);
  const { agent_id: id } = JSON.parse(started.stdout);
  const unread = async () =>
    JSON.stringify(JSON.parse((await troupe(['clean', '--json'])).stdout));
  await until('it has ended', async () =>
    (await troupe(['list', '--json'])).stdout.includes('"completed"')
  );
  const before = await unread();
  await troupe(['report', id]);
  expect(await unread()).not.toBe(before);
});
