import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { type GoldenCase, goldenCases } from '../../golden/golden-cases.ts';
import { type GoldenStage, goldenStage } from '../../golden/golden-stage.ts';

const stages: GoldenStage[] = [];

afterAll(async () => {
  for (const stage of stages) await stage.stop();
});

/** Of a fresh project with such files. */
function of(
  name: string,
  files: Record<string, string>,
  ...args: string[]
): GoldenCase {
  const stage = async () => {
    const made = await goldenStage({ agents: [] });
    stages.push(made);
    for (const [file, text] of Object.entries(files)) {
      const path = join(made.workspace.path, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    return made;
  };
  return { name, args: ['init', ...args], stage };
}

const npx = { command: 'npx', args: ['-y', 'troupe', 'mcp'] };
const mine = { command: 'mine' };
const json = (agents: object) =>
  `${JSON.stringify({ mcpServers: { x: mine, agents } }, null, 2)}\n`;

goldenCases('init', [
  of('nobody', {}, '--yes'),
  of('unknown', {}, 'claud'),
  of('foreign', { '.mcp.json': json(mine) }, 'claude', '--yes'),
  of('remove', { '.mcp.json': json(npx) }, 'claude', '--remove', '--yes'),
  of('remove-absent', {}, 'claude', 'codex', '--remove', '--yes')
]);
