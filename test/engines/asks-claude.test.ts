import { describe, expect } from 'vitest';
import { asksOf } from '../kit/servers/ask-calls.ts';
import { asksSuite, script } from './asks-suite.ts';
import { claude, testWith } from './clis.ts';
import { createStage } from './stage.ts';

asksSuite(claude, { access: 'read', shell: 'Bash' });

const asking = { access: 'read', ask: 'coordinator' };

describe('Claude Code with ask', () => {
  const test = testWith(claude);

  test('lists a denied command in its result', async () => {
    const stage = await createStage(claude);
    const id = await stage.start(script, asking);
    const [ask] = await asksOf(stage.server, [id]);
    const denial = { ask_id: ask?.ask_id, decision: 'deny' };
    await stage.server.call('answer_agent', denial);
    const { denials } = await stage.result(id);
    expect(denials).toEqual([expect.stringContaining('touch made')]);
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
});
