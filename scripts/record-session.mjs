#!/usr/bin/env node
/**
 * Records the sessions of the documents: real commands, typed into a real
 * shell in a terminal of tmux. No model is called, because no agent program is
 * on PATH.
 *
 *   node scripts/record-session.mjs          writes docs/media/
 *   node scripts/record-session.mjs demo     writes only this session
 *   node scripts/record-session.mjs --check  records again, without pauses, and
 *                                            fails when the lines differ
 */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sessions } from './recorded-sessions.mjs';
import { castOf, eventsIn } from './session-cast.mjs';
import { svgOf } from './session-svg.mjs';
import { openTerminal } from './session-terminal.mjs';
import { differences, tidy } from './session-text.mjs';

const { values, positionals } = parseArgs({
  options: { check: { type: 'boolean' } },
  allowPositionals: true
});
const { check = false } = values;
const keyMs = check ? 0 : 70;
const readMs = check ? 0 : 1500;
const limitMs = 30_000;

const root = realpathSync(join(import.meta.dirname, '..'));
const media = join(root, 'docs', 'media');

async function record(session, stage) {
  const directory = session.directory({ root, stage });
  const pauseSeconds = check ? 0 : 2;
  const terminal = openTerminal({
    ...session,
    root,
    stage,
    directory,
    pauseSeconds
  });
  try {
    await terminal.watch(limitMs, () => terminal.prompts() === 1);
    await terminal.watch(readMs);
    for (const step of session.steps) await perform(terminal, step);
    const ended = await terminal.watch(limitMs, () => terminal.prompts() > 1);
    if (!ended) throw new Error(`"${session.title}" did not end in time.`);
    await terminal.watch(readMs + 200);
    return { ...terminal.seen(), text: terminal.text(), directory };
  } finally {
    await terminal.close();
  }
}

async function perform(terminal, { type, when, keys = [...type, 'Enter'] }) {
  if (when) {
    const came = await terminal.watch(limitMs, () => terminal.shows(when));
    if (!came)
      throw new Error(`It never showed ${when}, but\n${terminal.text()}`);
    await terminal.watch(readMs);
  }
  for (const key of keys) {
    if (key === 'Enter') await terminal.watch(keyMs * 5);
    terminal.press(key);
    await terminal.watch(keyMs);
  }
}

/** Replaces the paths of this machine: they are private, and differ. */
const withoutPaths = (directory) => (text) =>
  text
    .replaceAll(root, '/path/to/troupe')
    .replaceAll(directory, '/home/you/project');

function compare({ name }, text) {
  const before = readFileSync(join(media, `${name}.txt`), 'utf8');
  const differing = differences(before, text);
  for (const line of differing) console.error(line);
  if (differing.length === 0) return;
  console.error(
    `docs/media/${name}.* is stale: run node scripts/record-session.mjs ${name}`
  );
  process.exitCode = 1;
}

function write(
  { name, title, size },
  { chunks, screens, text },
  change,
  stage
) {
  const cast = castOf(eventsIn(chunks, change), size, `troupe: ${title}`);
  const shown = screens.map((one) => ({ ...one, text: change(one.text) }));
  const files = { cast, svg: svgOf(shown, size, title), txt: text };
  const { username, homedir } = userInfo();
  for (const word of [stage, root, homedir, `${username}@`])
    if (Object.values(files).some((content) => content.includes(word)))
      throw new Error(`The recording would tell "${word}". Record it again.`);
  mkdirSync(media, { recursive: true });
  for (const [ending, content] of Object.entries(files)) {
    writeFileSync(join(media, `${name}.${ending}`), content);
    console.log(`docs/media/${name}.${ending}: ${content.length} characters`);
  }
}

for (const session of sessions) {
  if (positionals.length > 0 && !positionals.includes(session.name)) continue;
  const stage = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-record-')));
  try {
    const recorded = await record(session, stage);
    const change = withoutPaths(recorded.directory);
    const text = tidy(change(recorded.text));
    if (check) compare(session, text);
    else write(session, { ...recorded, text }, change, stage);
  } finally {
    rmSync(stage, { recursive: true, force: true, maxRetries: 5 });
  }
}
