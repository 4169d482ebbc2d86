import { afterEach, beforeEach, expect, test } from 'vitest';
import { carryOut } from '../../fuzz/campaign.ts';
import {
  createFuzzWorkspace,
  startFuzzed,
  strayFiles
} from '../../fuzz/stage.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';
import type { TempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

/** A night has the time for 100,000. */
const messages = Number(process.env.TROUPE_FUZZ_MESSAGES ?? 5000);
const timeoutMs = 120_000 + 20 * messages;
const megabyte = 1024 * 1024;

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createFuzzWorkspace();
});

afterEach(() => workspace.remove());

test(
  'a server with every tool answers each request once, whatever it is sent',
  async () => {
    workspace.write(
      'troupe.config.json',
      JSON.stringify({
        engines: { rehearsal: {} },
        squad: { engine: 'rehearsal' },
        orchestrator: { backend: 'process', engine: 'rehearsal' }
      })
    );
    await fuzz(
      ['troupe.cjs', 'mcp', '--toolsets', 'all', '--engines', 'rehearsal'],
      messages
    );
  },
  timeoutMs
);

test(
  'so does a council of its own',
  () => fuzz(['council.cjs', 'mcp', '-n', 'fuzz'], messages / 5),
  timeoutMs
);

test(
  'so does the server of a worker',
  async () => {
    const stage = createOrchestratorStage('process');
    try {
      const { id } = await stage.puppet(await stage.serve());
      workspace.remove();
      workspace = { ...stage, remove: () => undefined };
      workspace.write('../outside/canary', 'Nobody writes here.\n');
      await fuzz(
        ['troupe.cjs', 'mcp', '--toolsets', 'worker', '--agent-id', id],
        messages / 5
      );
    } finally {
      await stage.close();
    }
  },
  timeoutMs
);

async function fuzz(program: string[], count: number): Promise<void> {
  const random = seededRandom(`fuzz ${program.join(' ')}`);
  const server = await startFuzzed(workspace, program, random);
  const { client } = server;
  const heaps: number[] = [];
  const from = performance.now();
  await carryOut({
    ...server,
    random,
    messages: count,
    budget: { starts: count / 100, workers: count / 5000 },
    onTenth: async () => {
      heaps.push(await server.heap());
    }
  });
  await client.close();
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  const shown = heaps.map((bytes) => (bytes / megabyte).toFixed(1)).join(' ');
  process.stderr.write(
    `${count} messages, ${client.answers} lines back in ${seconds} s; heap, MB: ${shown}\n`
  );
  expect(client.faults).toEqual([]);
  expect(client.stderr).not.toMatch(/bug:|unexpectedly|Warning|\n {4}at /);
  expect(strayFiles(workspace)).toEqual([]);
  // The last against the middle: what is remembered is remembered by then.
  const [middle = 0, last = 0] = [heaps[5], heaps.at(-1)];
  expect(last - middle).toBeLessThan(6 * megabyte);
}
