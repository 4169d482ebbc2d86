import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let workspace: TempWorkspace;
let screen: Screen;

beforeEach(() => {
  workspace = createTempWorkspace();
  mkdirSync(join(workspace.home, '.claude'));
  screen = openScreen(workspace, 80, 60);
});

afterEach(() => {
  screen.close();
  workspace.remove();
});

const pathOf = (name: string) => join(workspace.path, name);

/** Waits for a question, and answers it. */
async function answer(question: string, ...keys: string[]): Promise<string> {
  const shown = await screen.shows(question);
  screen.press(...keys);
  return shown;
}

testTmux(
  'a person chooses clients and access, sees what changes, and tries it',
  async () => {
    screen.run('troupe init; echo "exit $?"');
    await answer('For which projects?', 'Enter');
    const clients = await answer('Which clients', 'Down', 'Space', 'Enter');
    expect(clients).toMatch(/◼ Claude Code/);
    expect(clients).toMatch(/◻ Codex/);
    const levels = await answer('What may agents do', 'Enter');
    for (const level of ['write', 'read', 'full'])
      expect(levels).toMatch(new RegExp(`[●○] ${level} `));
    expect(levels).toContain('change files of this project (default)');
    const extras = await answer('What else may Claude Code do?', 'Enter');
    expect(extras).toMatch(/◼ continue an idle session when an agent ends/);
    expect(extras).toMatch(/◼ show agents, unread results and cost/);
    const diff = await answer('Write these 4 files?', 'Enter');
    expect(diff).toContain('+ [mcp_servers.agents]');
    expect(diff).toContain('"command": "node');
    expect(diff).toContain('"maxAccess": "write"');
    const tried = await answer('Try it now?', 'Enter');
    for (const label of ['Claude Code', 'Codex'])
      expect(tried).toMatch(
        new RegExp(`${label}: starts in \\d+ ms, 23 tools`)
      );
    const end = await screen.shows('exit 0');
    expect(end).toContain('### 🤖 Name the files');
    expect(end).toContain('start Claude Code here and say: "Have another');
    const hooks = readFileSync(pathOf('.claude/settings.local.json'), 'utf8');
    expect(hooks).toContain('notify --hook claude');
    const config = readFileSync(pathOf('troupe.config.json'), 'utf8');
    expect(JSON.parse(config)).toEqual({ maxAccess: 'write' });
    screen.run('clear; troupe init --remove');
    const removal = await answer(
      'Which clients do you want to remove troupe from?',
      'Enter'
    );
    expect(removal).not.toContain('Cursor');
    await answer('Take that out of these 3 files?', 'Enter');
    await screen.shows('troupe is removed');
    for (const name of ['.mcp.json', '.claude'])
      expect(existsSync(pathOf(name))).toBe(false);
    expect(existsSync(pathOf('troupe.config.json'))).toBe(true);
  }
);

testTmux('a person who does not want it has nothing written', async () => {
  screen.run('troupe init codex; echo "exit $?"');
  await answer('For which projects?', 'Enter');
  await answer('What may agents do', 'Down', 'Down', 'Enter');
  await answer('Write these 2 files?', 'Right', 'Enter');
  await screen.shows('nothing was written', 'exit 1');
  expect(existsSync(pathOf('.codex'))).toBe(false);
});

const questions = [
  'For which projects?',
  'Which clients',
  'What may agents do',
  'What else may Claude Code do?',
  'Write these'
];

for (const last of questions)
  testTmux(
    `Ctrl-C at "${last}" ends it, writes nothing, and leaves the terminal as it was`,
    async () => {
      const before = await screen.settings();
      screen.run('troupe init; echo "exit $?"');
      for (const question of questions.slice(0, questions.indexOf(last)))
        await answer(question, 'Enter');
      await answer(last, 'C-c');
      await screen.shows('nothing was written', 'exit 130');
      screen.run('clear');
      expect(await screen.settings()).toBe(before);
      expect(screen.isCursorShown()).toBe(true);
      expect(existsSync(pathOf('.mcp.json'))).toBe(false);
    }
  );

testTmux('what is set already is not asked for', async () => {
  workspace.write('troupe.config.json', '{"maxAccess": "read"}');
  screen.run('troupe init claude; echo "exit $?"');
  await answer('For which projects?', 'Enter');
  await answer(
    'What else may Claude Code do?',
    'Space',
    'Down',
    'Space',
    'Enter'
  );
  await answer('Write this file?', 'Enter');
  const tried = await answer('Try it now?', 'Down', 'Enter');
  expect(tried).not.toContain('What may agents do');
  const end = await screen.shows('exit 0');
  expect(end).not.toContain('### ');
});

testTmux(
  'a person sets up all projects, and is not asked again here',
  async () => {
    screen.run('troupe init claude --no-check; echo "exit $?"');
    await answer('For which projects?', 'Down', 'Enter');
    await answer('What may agents do', 'Enter');
    await answer('What else may Claude Code do?', 'Enter');
    const diff = await answer('Write these 3 files?', 'Enter');
    expect(diff).toContain('~/.claude/settings.json');
    await screen.shows('exit 0');
    expect(existsSync(pathOf('.mcp.json'))).toBe(false);
    for (const name of ['.claude.json', '.claude/settings.json'])
      expect(existsSync(join(workspace.home, name))).toBe(true);
  }
);
