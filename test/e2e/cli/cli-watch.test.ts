import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { processTable } from '../../../src/adapters/child-process/process-table.ts';
import { type ActorStage, actorStage } from '../../kit/agents/actors.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';
import { troubleIn } from '../../kit/workspaces/trouble.ts';

let stage: ActorStage;
let screens: Screen[];

beforeEach(async () => {
  stage = await actorStage({
    engines: { rehearsal: true },
    maxConcurrent: 20
  });
  screens = [];
});

afterEach(async () => {
  for (const screen of screens) screen.close();
  await stage.close();
});

function open(
  columns = 80,
  rows = 24,
  environment: Record<string, string> = {}
): Screen {
  const screen = openScreen(stage, columns, rows, environment);
  screens.push(screen);
  return screen;
}

/** The line of an agent, without what points at it. */
const lineOf = (id: string, rest: string) =>
  new RegExp(`^[> ] ${id} +${rest}$`, 'm');

const selected = (id: string) => new RegExp(`^> ${id} `, 'm');

const wasRead = (id: string) =>
  existsSync(join(stage.record, 'spawns', id, 'read'));

testTmux(
  'watch shows the agents of all servers: state, engine, cost, lines, doing',
  async () => {
    execFileSync('git', ['init', '-q'], { cwd: stage.path });
    const done = await stage.start('done', { model: 'big' });
    const bad = await stage.start('bad');
    stage.act('done', { write: { file: 'new.txt', text: 'a\nb\nc\n' } });
    stage.act('done', { text: 'fine', costUsd: 0.125, done: true });
    const screen = open(120, 40);
    screen.run('troupe watch');
    await screen.shows(
      lineOf(
        done,
        'completed  actor +big +\\d.*  \\$0\\.1250  \\+\\d+ -\\d+ .* done'
      )
    );
    expect(screen.isCovered()).toBe(true);
    expect(screen.isCursorShown()).toBe(false);
    stage.act('bad', { failure: 'no more credit', done: true });
    await screen.shows(lineOf(bad, 'failed +actor .* bad\\n +no more credit'));
    // Another process, which has its own agent.
    const other = startCommand(stage, ['run', 'rehearsal', 'hang']);
    const [, id = ''] = await other.says('stderr', /\) ([0-9a-f]{8}), access/);
    const mine = await stage.start('mine');
    stage.act('mine', { progress: 'Reading \u001b[2Jfiles', costUsd: 0.5 });
    const seen = await screen.shows(
      lineOf(id, 'running +rehearsal +script +\\d+s .* hang\\n +hang'),
      lineOf(
        mine,
        'running +actor +- +\\d+s +\\$0\\.5000  - .* mine\\n +troupe-test · Reading  ?\\[2Jfiles'
      )
    );
    expect(seen.split('\n')[0]).toBe(
      '2 running; today (UTC) 2 ended, 1 not completed, cost $0.1250 + 1 unknown'
    );
    // The line of the selected one has no colours of its own.
    screen.press('Home');
    await screen.shows(selected(id));
    await until('the colours', () => {
      const colored = screen.colored();
      return ['[32mcompleted', '[31mfailed', '[33mrunning'].every((state) =>
        colored.includes(`\u001b${state}`)
      );
    });
    other.child.kill('SIGINT');
    await screen.shows(lineOf(id, 'canceled +rehearsal .*'));
  }
);

testTmux('each key does what the help says', async () => {
  const [one, two] = [await stage.start('one'), await stage.start('two')];
  const long = Array.from({ length: 60 }, (_, line) => `line ${line}`);
  stage.act('one', { text: long.join('\n'), done: true });
  const screen = open();
  screen.run('echo before; troupe watch --limit 5; echo exit $?');
  await screen.shows(selected(two), lineOf(one, 'completed .*'));
  screen.press('j');
  await screen.shows(selected(one));
  screen.press('Up');
  await screen.shows(selected(two));
  screen.press('End');
  await screen.shows(selected(one));
  screen.press('?');
  await screen.shows('PgUp, PgDn, b, space', 'any key: back');
  screen.press('x');
  await screen.shows(selected(one));

  expect(wasRead(one)).toBe(false);
  screen.press('Enter');
  await screen.shows(`Actor ${one} completed`, 'asked: one', '\nline 0\n');
  expect(wasRead(one)).toBe(true);
  screen.press('PageDown');
  const paged = await screen.shows('line 30', /^22-42 of 63 /m);
  expect(paged).not.toMatch(/^line 1$/m);
  screen.press('G');
  await screen.shows(/^line 59$/m, '43-63 of 63');
  screen.press('k');
  await screen.shows('42-62 of 63');
  screen.press('g');
  await screen.shows(/^line 1$/m);
  screen.press('q');
  await screen.shows(selected(one), 'q quit');

  screen.press('k', 'f');
  await screen.shows(`Actor ${two} running`, 'following');
  stage.act('two', { progress: 'Reading' });
  stage.act('two', { progress: 'Thinking', text: 'a first word' });
  await screen.shows('- Reading\n- Thinking\n\na first word');
  expect(wasRead(two)).toBe(false);
  screen.press('Escape');
  await screen.shows(selected(two));

  screen.press('/');
  screen.press('-l', 'Thinkk');
  await screen.shows('show only: Thinkk_', 'No agent has "Thinkk"');
  screen.press('BSpace', 'Enter');
  await screen.shows('only "Think" (Esc: all)', lineOf(two, 'running .*'));
  expect(screen.text()).not.toContain(one);
  screen.press('Escape');
  await screen.shows(one);

  screen.press('c');
  await screen.shows(`Cancel ${two} (two)? y/n`);
  screen.press('n');
  await screen.shows('Nothing was changed.', lineOf(two, 'running .*'));
  screen.press('c', 'y');
  await screen.shows(`${two} is canceled.`, lineOf(two, 'canceled .*'));
  screen.press('c');
  await screen.shows(`${two} has ended already (canceled).`);
  screen.press('q');
  const end = await screen.shows('exit 0');
  expect(end).toMatch(/^before$/m);
  expect(screen.isCovered()).toBe(false);
  expect(screen.isCursorShown()).toBe(true);
});

testTmux(
  'a diff is shown, an id copied, and a reply continues an agent',
  async () => {
    execFileSync('git', ['init', '-q'], { cwd: stage.path });
    const at = await stage.start('at work');
    const run = ['run', 'rehearsal', '--json'];
    const script = 'write new.txt first line\nsay done';
    const { stdout } = await runCommand(stage, [...run, script]);
    const id = String(JSON.parse(stdout).agent_id);
    const screen = open(100);
    const recorded = screen.record();
    screen.run('troupe watch');
    await screen.shows(selected(at), lineOf(id, 'completed .*'));
    screen.press('d');
    await screen.shows(`Changes of Actor ${at}`, 'recorded when it ends');
    screen.press('q', 'r');
    await screen.shows(`${at} is running; reply when it has ended.`);
    screen.press('j');
    await screen.shows(selected(id));
    screen.press('d');
    await screen.shows(
      `Changes of Rehearsal ${id}: 1 file`,
      '+++ b/new.txt',
      /^\+first line$/m
    );
    await until('its colours', () =>
      screen.colored().includes('[32m+first line')
    );
    screen.press('y');
    await screen.shows(`Copied ${id}.`);
    const copied = Buffer.from(id).toString('base64');
    await until('the copy', () => recorded().includes(`\u001b]52;c;${copied}`));

    screen.press('r', 'x', 'Escape');
    await screen.shows('q back');
    screen.press('r', 'Enter');
    await screen.shows('Nothing was sent.');
    screen.press('r');
    screen.paste('say 二回目\nq');
    await screen.shows(`reply to ${id}: say 二回目 q_`);
    screen.press('BSpace', 'Enter');
    const seen = await screen.shows(/^[0-9a-f]{8} continues [0-9a-f]{8}\./m);
    const [, next = ''] = /^(\w{8}) continues/m.exec(seen) ?? [];
    await screen.shows(selected(next), lineOf(next, 'completed .* say 二回目'));
    screen.press('Enter');
    await screen.shows('(turn 2 of this session)', '二回目');
    screen.press('q', 'q');
    await until('the shell', () => !screen.isCovered());
  }
);

testTmux(
  'the terminal is as it was: after TERM, Ctrl-C, Ctrl-Z and an error',
  async () => {
    const id = await stage.start('one');
    const screen = open();
    const before = await screen.settings();
    const isRestored = async (code: number) => {
      await screen.shows(`exit ${code}`);
      expect(screen.isCovered()).toBe(false);
      expect(screen.isCursorShown()).toBe(true);
      expect(await screen.settings()).toBe(before);
    };
    screen.run('troupe watch; echo exit $?');
    await screen.shows(selected(id));
    process.kill(screen.pid(), 'SIGTERM');
    await isRestored(143);

    screen.run('troupe watch; echo exit $?');
    await screen.shows(selected(id));
    screen.press('C-z');
    // As a shell reports a stopped program.
    await screen.hides(selected(id));
    expect(screen.isCovered()).toBe(false);
    screen.run('clear; fg; echo exit $?');
    await screen.shows(selected(id));
    expect(screen.isCovered()).toBe(true);
    screen.press('C-c');
    await isRestored(0);

    // Not in the workspace: an error of a plugin does not end it.
    const trouble = troubleIn(stage.home);
    screen.run(`${trouble.option} troupe watch; echo exit $?`);
    await screen.shows(selected(id));
    trouble.says('a word');
    await screen.shows(selected(id), /^a word$/m);
    trouble.throws('boom');
    const end = await screen.shows('exit 1');
    expect(end).toMatch(/\na word\ntroupe: boom\nexit 1/);
    await isRestored(1);
  }
);

testTmux('it ends with its terminal', async () => {
  const id = await stage.start('one');
  const screen = open();
  screen.run('troupe watch');
  await screen.shows(selected(id));
  const pid = screen.pid();
  const isThere = () => processTable().some((one) => one.pid === pid);
  expect(isThere()).toBe(true);
  screen.close();
  await until('its end', () => !isThere());
});

testTmux('it fits any size, and what is resized', async () => {
  const names = [...'abcdefghijkl'];
  for (const name of names) await stage.start(name);
  const screen = open(80, 24, { NO_COLOR: '1' });
  screen.run('troupe watch');
  const seen = await screen.shows(
    'q quit',
    /(.* running .*\n.*output yet\n){9}/
  );
  expect(seen.split('\n')).toHaveLength(24);
  expect(screen.colored()).not.toContain('\u001b[3');
  screen.resize(120, 40);
  await screen.shows(/\n{8}Actor [0-9a-f]{8}/);
  screen.resize(60, 10);
  await screen.shows(
    /^12 running.*\n.*\n(([> ] [0-9a-f]{8} +running.*| {2}.*yet)\n){5}Actor/
  );
  screen.press('End');
  await screen.shows(
    /^> [0-9a-f]{8} +running.*\n.*yet\n\n?Actor [0-9a-f]{8}.*\nl\n/m
  );
  expect(screen.text()).toMatch(/^12 running/);
});

testTmux(
  'an empty workspace says what to do, and shows what comes',
  async () => {
    const screen = open();
    screen.run('troupe watch');
    await screen.shows('no agents in this workspace yet', 'troupe run claude');
    screen.press('j', 'Enter', 'c', 'f');
    const id = await stage.start('one');
    await screen.shows(selected(id));
  }
);
