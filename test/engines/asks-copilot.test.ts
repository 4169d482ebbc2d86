import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { askOf, asksOf } from '../kit/servers/ask-calls.ts';
import { copilot, testWith } from './clis.ts';
import { createStage } from './stage.ts';

const test = testWith(copilot);

const asking = { access: 'read', ask: 'coordinator' };
const script = '[[shell: touch made]] [[say: Done.]]';

describe('Copilot with ask', () => {
  test('runs a command that is allowed, in a session that goes on', async () => {
    const stage = await createStage(copilot);
    // Copilot keeps its sessions where its user has some already.
    await stage.run('[[say: Before.]]');
    const id = await stage.start(script, asking);
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([
      { kind: 'permission', tool: 'bash', command: 'touch made' }
    ]);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, decision: 'allow' });
    const result = await stage.result(id);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(true);
    const next = await stage.resume(id, '[[say: On.]]');
    expect(await stage.result(next)).toMatchObject({ result: 'On.' });
  });

  test('does not run a command that is denied, and its model has the reason', async () => {
    const stage = await createStage(copilot);
    const id = await stage.start(script, asking);
    const ask_id = await askOf(stage.server, id);
    const decision = 'deny';
    const text = 'use the file tools';
    await stage.server.call('answer_agent', { ask_id, decision, text });
    await stage.result(id);
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(false);
    expect(stage.bodies().at(-1)).toContain(text);
  });

  test('is denied what nobody answers', async () => {
    const stage = await createStage(copilot);
    const id = await stage.start(script, { ...asking, ask_timeout: 1 });
    await askOf(stage.server, id);
    await stage.result(id);
    expect(existsSync(join(stage.workspace.path, 'made'))).toBe(false);
  });

  test('edits at write, and asks for a command', async () => {
    const stage = await createStage(copilot);
    const id = await stage.start(
      '[[write: a.txt | hi]] [[shell: node -e 1]] [[say: Done.]]',
      { ...asking, access: 'write' }
    );
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([{ tool: 'bash', command: 'node -e 1' }]);
    expect(existsSync(join(stage.workspace.path, 'a.txt'))).toBe(true);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, decision: 'deny' });
    await stage.result(id);
  });

  test('asks a question', async () => {
    const stage = await createStage(copilot);
    const question = JSON.stringify({ question: 'Tabs?' });
    const id = await stage.start(
      `[[mcp: troupe-ask ask_coordinator ${question}]] [[say: Done.]]`,
      asking
    );
    const asks = await asksOf(stage.server, [id]);
    expect(asks).toMatchObject([{ kind: 'question', question: 'Tabs?' }]);
    const ask_id = asks[0]?.ask_id;
    await stage.server.call('answer_agent', { ask_id, text: 'spaces only' });
    expect(await stage.result(id)).toMatchObject({ status: 'completed' });
    expect(stage.bodies().at(-1)).toContain('spaces only');
  });
});
