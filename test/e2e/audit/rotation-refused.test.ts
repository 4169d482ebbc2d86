import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createRotationStage,
  type RotationStage
} from '../../kit/workspaces/rotation-stage.ts';

let stage: RotationStage;

afterEach(() => stage.remove());

test('a journal that cannot be rotated goes on, and stderr says so once', async () => {
  stage = createRotationStage();
  const server = await stage.start('a');
  await server.call('list');
  const archive = stage.writeRecord('journal', 'in the way');
  const spawn = async () => {
    const prompt = `say ${'and so on '.repeat(1000)}`;
    for (let agent = 0; agent < 3; agent += 1)
      await server.call('spawn_rehearsal', { prompt });
    await server.call('wait_for_agents');
  };
  await spawn();
  await until('the problem', () => server.stderr !== '' || undefined);
  await spawn();
  // Written after the next refresh of the views.
  const view = join(stage.path, 'logs/IAC.md');
  const isShown = () => readFileSync(view, 'utf8').split('\n### ').length > 6;
  await until('the view', () => isShown() || undefined);
  await server.close();
  expect(server.stderr).toMatch(
    /^troupe: \S+iac\.jsonl could not be rotated, and goes on growing: .*\n$/
  );
  expect(stage.lines()).toHaveLength(12);

  rmSync(archive);
  const { code, stdout } = await runCommand(stage, ['log', '--verify']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('records 12, chains 1, torn lines 0')
  });
  expect(stage.segments()).toEqual(['journal/iac-000001.jsonl']);
});
