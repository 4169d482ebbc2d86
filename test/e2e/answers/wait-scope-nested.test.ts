import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createNestingStage } from '../../kit/workspaces/nesting-stage.ts';

const program = join(import.meta.dirname, '../../../dist/troupe.cjs');

const hang = { tool: 'spawn_rehearsal', arguments: { prompt: 'hang' } };

test('a wait without ids is for what its agents started, also after these ended', async () => {
  const stage = createNestingStage({});
  const one = await stage.serve();
  const [parent = ''] = await stage.parents(1, [hang]);
  const [answers = []] = await stage.answers([parent]);
  const child = String(answers[0]?.data.agent_id);
  const wait = { timeout: 0 };
  expect((await one.call('wait_for_agents', wait)).data).toMatchObject({
    still_running: [child],
    others_running: 0
  });
  // Its server has ended, but an agent was the client of that name.
  const nester = await stage.serve({}, 'nester');
  expect((await nester.call('wait_for_agents', wait)).data).toMatchObject({
    status: 'no_agents_running',
    others_running: 1
  });
});

test('an agent waits for its own agents, or for all that do not wait for it', async () => {
  const stage = createNestingStage({});
  const server = await stage.serve();
  const { data } = await server.call('spawn_rehearsal', { prompt: 'hang' });
  const wait = (scope: string) => ({
    tool: 'wait_for_agents',
    arguments: { timeout: 0, scope }
  });
  const [parent = ''] = await stage.parents(1, [
    hang,
    wait('mine'),
    wait('workspace')
  ]);
  const [answers = []] = await stage.answers([parent]);
  const [started, mine, all] = answers.map((answer) => answer.data);
  expect(mine).toMatchObject({
    still_running: [started?.agent_id],
    others_running: 1
  });
  expect(all?.still_running).toEqual([data.agent_id, started?.agent_id]);
});

test('an agent at a command line waits for its own agents, not for itself', async () => {
  const stage = createNestingStage({ plugins: ['./shell.mjs'] });
  const { workspace } = stage;
  workspace.write(
    'shell.mjs',
    `export default { kind: 'cli', name: 'shell', description: 'For tests.',
      command: '/bin/sh', args: () => ['-s'] };`
  );
  const server = await stage.serve();
  const troupe = `'${process.execPath}' '${program}' wait --trust`;
  const prompt = `${troupe} --json --timeout 20\n${troupe} $TROUPE_AGENT_ID 2>&1`;
  const { data } = await server.call('spawn_shell', { prompt });
  const { agent_id } = data;
  const ended = await server.call('wait_for_agents', { agent_ids: [agent_id] });
  const [{ result }] = ended.data.results as [{ result: string }];
  expect(JSON.parse(result.slice(0, result.indexOf('}') + 1))).toMatchObject({
    status: 'no_agents_running'
  });
  expect(result).toContain(`Agent ${agent_id} is the caller`);
});
