import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runScript } from '../../kit/agents/own-script.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const demo = (...args: string[]) => runScript(workspace, 'demo.mjs', ...args);

test('the demo works without HOME, network and engines, and cleans up', async () => {
  const { code, stdout, stderr } = await demo('--rehearsal');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const said of [
    '$ node dist/troupe.cjs mcp',
    '"access":"read"}',
    'rehearsal: (refused to write notes.md: access is read)',
    'rehearsal: failed (rate_limited): the provider asks to wait',
    '### 🤖 Which job in notes.md comes first?\n- [x] ✅ **Done**',
    'dist/troupe.cjs init\n'
  ])
    expect(stdout).toContain(said);
  // How many still run when it looks depends on the machine.
  expect(stdout).toMatch(/[123] running, 0 queued/);
  expect(readdirSync(workspace.path)).toEqual([]);
  expect(readdirSync(workspace.home)).toEqual([]);
  expect(linesThatBreak(stdout)).toEqual([]);
});

/** Longer than a terminal is wide; the path to type may be. */
function linesThatBreak(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.length > 100 && !line.includes('troupe.cjs init'));
}

test('the demo says why it does not use an engine', async () => {
  workspace.program('codex', 'process.exit(3)');
  const { code, stdout } = await demo();
  expect(code).toBe(0);
  expect(stdout).toContain(
    '   not installed: claude, copilot, cursor-agent, gemini-cli\n'
  );
  expect(stdout).toContain('   installed, but does not answer: codex\n');
  expect(stdout).toContain('   no key: gemini, grok, mistral\n');
  expect(stdout).toContain('no model, as no other engine is ready\n');
});

test('the demo with --keep leaves what it made', async () => {
  await demo('--rehearsal', '--keep');
  const [kept = ''] = readdirSync(workspace.path);
  const below = (name: string) => readdirSync(join(workspace.path, kept, name));
  expect(below('workspace')).toEqual(
    expect.arrayContaining(['logs', 'notes.md'])
  );
  expect(below('record')).toContain('workspaces');
});
