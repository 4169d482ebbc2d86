import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { askOf, asksOf } from '../kit/servers/ask-calls.ts';
import { claude, testWith } from './clis.ts';
import { createStage } from './stage.ts';

const test = testWith(claude);

const asking = { access: 'read', ask: 'coordinator' };
const script = '[[shell: touch made]] [[say: Done.]]';

describe('Claude Code with ask', () => {
  test('runs a command that is allowed', async () => {
    const stage = await createStage(claude);
    const id = await stage.start(script, asking);
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([
      { kind: 'permission', tool: 'Bash', command: 'touch made' }
    ]);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, decision: 'allow' });
    const result = await stage.result(id);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(true);
  });

  test('does not run a command that is denied, and its model has the reason', async () => {
    const stage = await createStage(claude);
    const id = await stage.start(script, asking);
    const ask_id = await askOf(stage.server, id);
    const decision = 'deny';
    const text = 'use the file tools';
    await stage.server.call('answer_agent', { ask_id, decision, text });
    const result = await stage.result(id);
    expect(result.denials).toEqual([expect.stringContaining('touch made')]);
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(false);
    expect(stage.bodies().at(-1)).toContain(text);
  });

  test('is denied what nobody answers', async () => {
    const stage = await createStage(claude);
    const more = { ...asking, ask_timeout: 1 };
    const id = await stage.start(script, more);
    await askOf(stage.server, id);
    expect(await stage.result(id)).toMatchObject({ status: 'completed' });
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(false);
  });

  test('is denied when its bridge is killed', async () => {
    const stage = await createStage(claude);
    const id = await stage.start(script, asking);
    await askOf(stage.server, id);
    const file = join(stage.workspace.record, 'spawns', id, 'asks', '1.json');
    const { bridge } = JSON.parse(readFileSync(file, 'utf8'));
    process.kill(bridge.pid, 'SIGKILL');
    await stage.result(id);
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(false);
  });

  test('edits at write, and asks for a command', async () => {
    const stage = await createStage(claude);
    const id = await stage.start(
      '[[write: a.txt | hi]] [[shell: node -e 1]] [[say: Done.]]',
      { ...asking, access: 'write' }
    );
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([{ tool: 'Bash', command: 'node -e 1' }]);
    expect(existsSync(join(stage.workspace.path, 'a.txt'))).toBe(true);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, decision: 'deny' });
    await stage.result(id);
    expect(existsSync(join(stage.workspace.path, 'a.txt'))).toBe(true);
  });

  test('reads all of the workspace without asking, and nothing outside', async () => {
    const stage = await createStage(claude);
    stage.workspace.write('a.txt', 'in the workspace');
    stage.workspace.write('../b.txt', 'outside of it');
    stage.workspace.write('sub/c.txt', 'in its directory');
    const id = await stage.start(
      '[[read: ../a.txt]] [[read: ../../b.txt]] [[say: Done.]]',
      { ...asking, cwd: 'sub' }
    );
    const [ask, ...more] = await asksOf(stage.server, [id]);
    expect(ask).toMatchObject({ tool: 'Read' });
    expect(String(ask?.path)).toContain('b.txt');
    expect(more).toEqual([]);
    const ask_id = ask?.ask_id;
    await stage.server.call('answer_agent', { ask_id, decision: 'deny' });
    await stage.result(id);
    expect(stage.bodies().at(-1)).toContain('in the workspace');
    expect(stage.bodies().at(-1)).not.toContain('outside of it');
  });

  test('asks a question, with full access too', async () => {
    const stage = await createStage(claude);
    const question = JSON.stringify({ question: 'Tabs?' });
    const id = await stage.start(
      `[[mcp: troupe-ask ask_coordinator ${question}]] [[say: Done.]]`,
      { ...asking, access: 'full' }
    );
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([{ kind: 'question', question: 'Tabs?' }]);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, text: 'spaces only' });
    expect(await stage.result(id)).toMatchObject({ status: 'completed' });
    expect(stage.bodies().at(-1)).toContain('spaces only');
  });
});
