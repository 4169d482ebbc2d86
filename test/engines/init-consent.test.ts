import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runCommand } from '../kit/servers/command-line.ts';
import { createClientStage, mcp } from './client-stage.ts';
import { codexClient } from './clients.ts';
import { testWith } from './clis.ts';

const test = testWith(codexClient.cli);

/** `codex exec` refuses a call for which it would have to ask. */
test('after init, the real codex looks without asking and starts no agent without asking', async () => {
  const stage = await createClientStage(() => [
    mcp('list'),
    mcp('list_roles'),
    mcp('wait_for_agents', { timeout: 1 }),
    mcp('spawn_rehearsal', { prompt: 'say hi' }),
    mcp('start_council', { agent_name: 'a', request: 'b' }),
    { do: 'say', text: 'Done.' }
  ]);
  const { workspace } = stage;
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  mkdirSync(join(workspace.home, '.codex'));
  writeFileSync(
    join(workspace.home, '.codex', 'config.toml'),
    `[projects.${JSON.stringify(workspace.path)}]\ntrust_level = "trusted"\n`
  );
  const init = ['init', 'codex', '--yes', '--no-check'];
  const { code, stderr } = await runCommand(workspace, init);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(
    JSON.parse(readFileSync(join(workspace.path, 'troupe.config.json'), 'utf8'))
  ).toEqual({ engines: { rehearsal: true }, maxAccess: 'write' });
  await stage.run(codexClient, { isConfigured: true });
  const refused = stage.results.map((result) =>
    result.includes('requires approval')
  );
  expect(refused).toEqual([false, false, false, true, true]);
});
