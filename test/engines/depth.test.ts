import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  type ClientStage,
  createClientStage,
  mcp,
  spawnedIn
} from './client-stage.ts';
import { claudeClient, codexClient } from './clients.ts';
import { testWith } from './clis.ts';
import { configure } from './stage.ts';

/** Starts a server with nothing of its client's environment but keys. */
const clearing = `
const { PATH, HOME, CODEX_API_KEY = '', ANTHROPIC_API_KEY = '' } = process.env;
const kept = Object.entries({ PATH, HOME, CODEX_API_KEY, ANTHROPIC_API_KEY })
  .map(([name, value]) => name + '=' + value);
const args = ['-i', ...kept, process.execPath, ...process.argv.slice(2)];
require('node:child_process').spawn('env', args, { stdio: 'inherit' })
  .on('exit', (code) => process.exit(code ?? 1));
`;

/** The directive that lets the model of an agent spawn another one. */
function spawning(tool: string, prompt: string): string {
  return `[[mcp: agents ${tool} ${JSON.stringify({ prompt })}]]`;
}

function recordsOf({ workspace }: ClientStage) {
  const spawns = join(workspace.record, 'spawns');
  return readdirSync(spawns)
    .filter((name) => /^[0-9a-f]{8}$/.test(name))
    .map((id) =>
      JSON.parse(readFileSync(join(spawns, id, 'record.json'), 'utf8'))
    )
    .sort((a, b) => a.depth - b.depth);
}

for (const client of [codexClient, claudeClient])
  describe(`${client.title} that spawns itself through our server`, () => {
    const test = testWith(client.cli);
    const { name, tool } = client.cli;

    for (const [title, isCleared] of [
      ['as it starts that', false],
      ['that it starts with nothing of its environment', true]
    ] as const)
      test(`is stopped at maxDepth, by a server ${title}`, async () => {
        const wait = '[[mcp: agents wait_for_agents {}]]';
        const last = spawning(tool, '[[say: Too deep.]]');
        const second = `${last} [[say: I was the second.]]`;
        const first = `${spawning(tool, second)} ${wait} [[say: I was the first.]]`;
        const stage = await createClientStage((turn) => [
          mcp(tool, { prompt: first }),
          mcp('wait_for_agents', {
            agent_ids: [spawnedIn(turn)]
          }),
          { do: 'say', text: 'Over.' }
        ]);
        const { workspace, model } = stage;
        configure(workspace, { [name]: { baseUrl: model.url } });
        const through = isCleared
          ? [workspace.write('../clearing.cjs', clearing)]
          : [];
        const flags = ['--engines', name];
        expect(await stage.run(client, { flags, through })).toBe('Over.');
        expect(stage.results.at(-1)).toContain('I was the first.');
        const [outer, inner, ...more] = recordsOf(stage);
        expect(more).toEqual([]);
        expect(outer).toMatchObject({ depth: 1, parent: null });
        expect(inner).toMatchObject({ depth: 2, parent: outer.agent_id });
        const told = JSON.stringify(model.requests.map(({ body }) => body));
        expect(told).toContain('depth_limit');
        expect(told).toContain('at depth 2; the limit is 2');
        expect(told).not.toContain('"Too deep.');
      });
  });
