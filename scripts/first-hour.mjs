#!/usr/bin/env node
/**
 * Follows the steps of a new user of troupe, with the real clients in a
 * terminal, and prints the time of each step: a fresh clone, `npm ci`,
 * `troupe init`, the client, its questions, the first delegation.
 * `npm run test:engines -- --install` installs the clients.
 *
 *     --write    writes the times to docs/internals/first-hour.md and the screens to
 *                docs/media/first-hour.txt
 *     --here     uses the build of this checkout, not a fresh clone
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { versions } from './engine-versions.mjs';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs', 'internals', 'first-hour.md');
const screens = join(root, 'docs', 'media', 'first-hour.txt');
const flags = process.argv.slice(2);

/** Seconds that a person takes to answer a question and to type a sentence. */
const person = { answer: 5, sentence: 15 };

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-first-')));
try {
  const before = flags.includes('--here') ? [] : freshClone();
  const walks = walksWith(before.length > 0 ? join(folder, 'troupe') : root);
  const table = tableOf(before, walks);
  process.stdout.write(`${table}\n`);
  if (flags.includes('--write')) {
    put('times', table);
    writeFileSync(screens, `${walks.map(screensOf).join('\n\n')}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function freshClone() {
  return [
    timed('`git clone`', 'git', ['clone', '-q', root, 'troupe'], folder),
    timed(
      '`npm ci`, which builds it',
      'npm',
      ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
      join(folder, 'troupe')
    )
  ];
}

function timed(title, command, args, cwd) {
  const began = performance.now();
  run(command, args, cwd);
  return { title, seconds: (performance.now() - began) / 1000 };
}

/** Runs the real clients, one after the other, with the build of a folder. */
function walksWith(directory) {
  const notes = join(folder, 'walks.jsonl');
  run(
    'npx',
    [
      ...['vitest', 'run', '--project', 'engines'],
      'test/engines/first-hour.test.ts'
    ],
    root,
    {
      TROUPE_CI: '1',
      TROUPE_FIRST_HOUR_NOTES: notes,
      TROUPE_FIRST_HOUR_PROGRAM: join(directory, 'dist', 'troupe.cjs')
    }
  );
  if (!existsSync(notes)) throw new Error('The tests left no notes.');
  return readFileSync(notes, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function tableOf(before, walks) {
  const machine = sum(before);
  const head = ['', ...walks.map(({ client }) => client)];
  const rows = [
    ['Version', ...walks.map(({ engine }) => versions[engine].version)],
    ...before.map(({ title, seconds }) => [
      title,
      ...walks.map(() => s(seconds))
    ]),
    row('`troupe init`', walks, (one) => one.title.startsWith('troupe init')),
    row('its start', walks, (one) => one.title.startsWith('start ')),
    row('its questions', walks, (one) => one.asks),
    row('the first delegation', walks, (one) => one.title === 'say it'),
    row('the entry in IAC.md', walks, (one) => one.title.includes('entry')),
    [
      '**The machine, in all**',
      ...walks.map(({ steps }) => `**${s(machine + sum(steps))}**`)
    ],
    ['Questions to answer', ...walks.map((one) => String(asked(one)))],
    [
      '**With a person**',
      ...walks.map(
        (one) => `**${s(machine + sum(one.steps) + personal(one))}**`
      )
    ]
  ];
  const date = new Date().toISOString().slice(0, 10);
  const lines = [head, head.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`
  );
  return `Measured ${date}, Node ${process.version.slice(1)}, ${process.platform}.\n\n${lines.join('\n')}`;
}

function row(title, walks, belongs) {
  return [title, ...walks.map(({ steps }) => s(sum(steps.filter(belongs))))];
}

function asked({ steps }) {
  return steps.filter(({ asks }) => asks).length;
}

function personal(one) {
  return asked(one) * person.answer + person.sentence;
}

function sum(steps) {
  return steps.reduce((all, { seconds }) => all + seconds, 0);
}

function s(seconds) {
  return `${seconds.toFixed(1)} s`;
}

/** The screens of a client. */
function screensOf({ client, steps }, index) {
  // The screens of troupe itself differ only in the name of the file.
  const isNew = ({ title }) => index === 0 || !/^troupe|^the entry/.test(title);
  const shown = steps
    .filter(isNew)
    .map(
      ({ title, seconds, screen }) =>
        `${capital(title)} (${s(seconds)}):\n\n${screen}`
    );
  return [`### ${client}`, ...shown].join('\n\n');
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function put(name, text) {
  const [begin, end] = ['begin', 'end'].map((one) => `<!-- ${name}:${one} -->`);
  const [before, rest] = readFileSync(page, 'utf8').split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (after === undefined)
    throw new Error(`The page lacks ${begin} or ${end}.`);
  writeFileSync(page, `${before}${begin}\n${text}\n${end}${after}`);
}

function run(command, args, cwd, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env }
  });
  if (error) throw error;
  if (status !== 0)
    throw new Error(`${command} ${args[0]} ended with ${status}`);
}
