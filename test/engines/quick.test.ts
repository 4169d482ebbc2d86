import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { startSquad } from '../kit/servers/squad-call.ts';
import { createClientStage, mcp, spawnedIn } from './client-stage.ts';
import { allClients } from './clients.ts';
import {
  allClis,
  claude,
  furnishHome,
  testWith,
  userEnvironment
} from './clis.ts';
import { configure, createStage, inTheMiddleOfATool } from './stage.ts';
import { inOffice, testWorkers } from './worker-office.ts';
import { livesALife } from './worker-suite.ts';

// What `npm test` takes the time for; `npm run test:engines` has all of it.

for (const cli of allClis)
  describe(`${cli.name} in short`, () => {
    const test = testWith(cli);

    test('writes a file and answers', async () => {
      const stage = await createStage(cli);
      const prompt = '[[shell: printf hi > note.txt]] [[say: Wrote it.]]';
      expect(await stage.run(prompt)).toMatchObject({
        status: 'completed',
        result: 'Wrote it.'
      });
      const file = join(stage.workspace.path, 'note.txt');
      expect(readFileSync(file, 'utf8')).toBe('hi');
    });

    test('is canceled in the middle of a tool, and nothing is left', async () => {
      const { stage, id } = await inTheMiddleOfATool(cli);
      await stage.server.call('cancel_agent', { agent_id: id });
      expect(processesOf(id)).toEqual([]);
      expect(await stage.result(id)).toMatchObject({ status: 'canceled' });
    });

    test('has failed when its key is refused', async () => {
      const stage = await createStage(cli);
      const prompt = '[[status: 401 | Wrong key]]';
      const result = await stage.run(prompt, { timeout: 20 });
      expect(result).toMatchObject({ status: 'failed', error_code: 'auth' });
    });
  });

for (const client of allClients)
  describe(`${client.title} as our client in short`, () => {
    const test = testWith(client.cli);

    test('spawns, waits and has the answer', async () => {
      const stage = await createClientStage((turn) => [
        mcp('spawn_rehearsal', { prompt: 'say forty-two' }),
        mcp('wait_for_agents', { agent_ids: [spawnedIn(turn)] }),
        { do: 'say', text: `It said: ${turn.toolResults.at(-1)}` }
      ]);
      expect(await stage.run(client)).toMatch(/It said:.*forty-two/s);
    });
  });

for (const cli of allClis)
  describe(`${cli.name} as a worker in short`, () => {
    const test = testWorkers(cli);

    test('does its tasks in order, drops one that is canceled, and stops', () =>
      inOffice(cli, {}, (office) => livesALife(office, 'full')));
  });

describe('a squad in short', () => {
  const test = testWith(...allClis);

  test('works on every engine at once, as its roles say', async () => {
    const stage = await createStage(claude, {
      unconfigured: true,
      env: ({ model, workspace }) => {
        furnishHome(workspace.home, allClis);
        const addresses = allClis.map(({ name }) => [
          name,
          { baseUrl: model.url }
        ]);
        configure(workspace, Object.fromEntries(addresses));
        return userEnvironment(...allClis);
      }
    });
    for (const { name } of allClis)
      stage.workspace.write(`agents/${name}.md`, `---\nengine: ${name}\n---\n`);
    const { members } = await startSquad(
      stage.server,
      allClis.map(({ name }) => ({
        roleId: name,
        task: `[[shell: printf %s ${name} > ${name}.txt]] [[say: I am ${name}.]]`
      }))
    );
    expect(members).toMatchObject(
      allClis.map(({ name }) => ({
        roleId: name,
        status: 'completed',
        result: `I am ${name}.`
      }))
    );
    for (const { name } of allClis) {
      const file = join(stage.workspace.path, `${name}.txt`);
      expect(readFileSync(file, 'utf8')).toBe(name);
    }
  });
});
