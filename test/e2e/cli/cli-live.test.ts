import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { type ActorStage, actorStage } from '../../kit/agents/actors.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';
import { troubleIn } from '../../kit/workspaces/trouble.ts';

let stage: ActorStage;
let screens: Screen[];

beforeEach(async () => {
  stage = await actorStage({ engines: { rehearsal: true } });
  screens = [];
});

afterEach(async () => {
  for (const screen of screens) screen.close();
  await stage.close();
});

function open(
  size?: [columns: number, rows: number],
  environment: Record<string, string> = {}
): Screen {
  const screen = openScreen(stage, ...(size ?? [80, 24]), environment);
  screens.push(screen);
  return screen;
}

/** A line of the block. */
const lineOf = (id: string, doing: string) =>
  new RegExp(`^[⠀-⣿] ${id}  actor +\\d.*  ${doing}$`, 'm');

testTmux(
  'wait shows what each agent does; those that ended go up and stay',
  async () => {
    const [one, two] = [await stage.start('one'), await stage.start('two')];
    const screen = open();
    screen.run('troupe wait; echo exit $?');
    stage.act('one', { progress: 'Reading \u001b[31mthe\nfiles' });
    stage.act('two', { progress: `日本語${'を'.repeat(60)}` });
    const seen = await screen.shows(
      lineOf(one, 'Reading the files'),
      lineOf(two, '日本語を+…')
    );
    // Of a wide text no line has become two.
    expect(seen.split('\n')).toHaveLength(4);
    expect(screen.isCursorShown()).toBe(false);
    stage.act('one', { progress: 'Writing' });
    await screen.shows(lineOf(one, 'Writing'));
    stage.act('one', { text: 'done', done: true });
    await screen.shows(
      new RegExp(
        `1 of 2: Actor ${one} completed.*\n[⠀-⣿] ${two}  actor .*日本語を+…$`
      )
    );
    stage.act('two', { failure: 'no more credit', done: true });
    const end = await screen.shows('exit 2');
    expect(end).toContain(`2 of 2: Actor ${two} failed`);
    expect(end).not.toMatch(/[⠀-⣿]/);
    expect(screen.isCursorShown()).toBe(true);
  }
);

testTmux(
  'more agents than lines: the block says how many more, at any size',
  async () => {
    const names = [...'abcdefgh'];
    for (const name of names) await stage.start(name);
    const screen = open([80, 8]);
    screen.run('troupe wait');
    await screen.shows('+ 3 more');
    screen.resize(60, 16);
    await screen.shows(/agents\n([⠀-⣿] [0-9a-f]{8}.*\n?){8}$/);
    screen.resize(40, 5);
    await screen.shows(/([⠀-⣿] [0-9a-f]{8}.*\n){2}\+ 6 more$/);
    screen.press('C-c');
    const end = await screen.shows('no longer waiting');
    expect(end).not.toMatch(/[⠀-⣿]|more/);
    expect(screen.isCursorShown()).toBe(true);
  }
);

testTmux('TERM gives the terminal back, and so does Ctrl-Z', async () => {
  const id = await stage.start('one');
  const screen = open();
  const before = await screen.settings();
  screen.run('troupe wait; echo exit $?');
  await screen.shows(lineOf(id, 'at work'));
  screen.press('C-z');
  expect(await screen.shows('exit 1')).not.toMatch(/[⠀-⣿]/);
  expect(screen.isCursorShown()).toBe(true);
  screen.run('fg; echo exit $?');
  await screen.shows(lineOf(id, 'at work'));
  expect(screen.isCursorShown()).toBe(false);
  process.kill(screen.pid(), 'SIGTERM');
  await screen.shows('exit 143');
  expect(screen.isCursorShown()).toBe(true);
  expect(await screen.settings()).toBe(before);
});

testTmux('an error on the way gives it back, too', async () => {
  const id = await stage.start('one');
  // Not in the workspace: an error of a plugin does not end it.
  const trouble = troubleIn(stage.home);
  const screen = open();
  screen.run(`${trouble.option} troupe wait; echo exit $?`);
  await screen.shows(lineOf(id, 'at work'));
  trouble.throws('boom');
  expect(await screen.shows('exit 1')).toMatch(/troupe: boom\nexit 1/);
  expect(screen.text()).not.toMatch(/[⠀-⣿]/);
  expect(screen.isCursorShown()).toBe(true);
});

testTmux('a reader that is gone leaves the terminal as it was', async () => {
  const screen = open();
  screen.run("troupe run rehearsal 'sleep 1' | true; echo ended");
  await screen.shows(/^[⠀-⣿] [0-9a-f]{8} {2}rehearsal/m);
  expect(await screen.shows(/^ended$/m)).not.toMatch(/[⠀-⣿]/);
  expect(screen.isCursorShown()).toBe(true);
});

testTmux(
  'NO_COLOR takes the colours, TERM=dumb and a pipe take the view',
  async () => {
    const id = await stage.start('one');
    const bare = open([80, 24], { NO_COLOR: '1' });
    bare.run('troupe wait');
    await bare.shows(lineOf(id, 'at work'));
    expect(bare.colored()).not.toContain('\u001b');
    bare.press('C-c');
    const colorful = open();
    colorful.run('troupe wait');
    await colorful.shows(lineOf(id, 'at work'));
    expect(colorful.colored()).toContain('\u001b[36m');
    colorful.press('C-c');
    const dumb = open([80, 24], { TERM: 'dumb' });
    dumb.run(
      'troupe wait --timeout 0.5; troupe wait --timeout 0.5 2>&1 | cat -v'
    );
    const seen = await dumb.shows(
      /(waiting for 1 agent(.|\n)*running(.|\n)*){2}/
    );
    expect(seen).not.toMatch(/[⠀-⣿]|\^\[/);
  }
);

testTmux(
  'run keeps its answer for stdout, and what it did for the terminal',
  async () => {
    const screen = open();
    screen.run(
      "printf 'progress looking\\nsleep 1\\nsay fine' | troupe run rehearsal > out"
    );
    await screen.shows(/^[⠀-⣿] [0-9a-f]{8} {2}rehearsal +\d.* {2}sleep 1$/m);
    const seen = await screen.shows(/Rehearsal [0-9a-f]{8} completed/);
    expect(seen).toMatch(/^ +\d\.\d s {2}sleep 1$/m);
    expect(seen).not.toMatch(/[⠀-⣿]/);
    expect(readFileSync(join(stage.path, 'out'), 'utf8')).toBe(
      'Rehearsal, no model was asked.\nfine\n'
    );
  }
);

testTmux('log --follow has those at work below what happened', async () => {
  const screen = open();
  screen.run('troupe log --follow; echo exit $?');
  const one = await stage.start('one');
  await screen.shows(/spawned +[0-9a-f]{8}/, lineOf(one, 'at work'));
  const two = await stage.start('two');
  stage.act('one', { text: 'done', done: true });
  const seen = await screen.shows(
    new RegExp(`completed +${one}`),
    lineOf(two, 'at work')
  );
  expect(seen).not.toMatch(lineOf(one, 'at work'));
  expect(seen.split('\n').at(-1)).toMatch(lineOf(two, 'at work'));
  screen.press('C-c');
  const end = await screen.shows('exit 130');
  expect(end).not.toMatch(/[⠀-⣿]/);
});

testTmux(
  'a server that a person starts by hand says whom it is for',
  async () => {
    const screen = open();
    screen.run('troupe mcp; echo exit $?');
    await screen.shows('To set up your client: troupe init');
    screen.press('C-c');
    await screen.shows('exit 0');
  }
);
