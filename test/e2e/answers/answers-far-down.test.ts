import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { limitsOf } from '../../../src/interfaces/mcp/answers/client-limits.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

const engines = Array.from({ length: 9 }, (_, n) => `e${n}`);

test.each(['codex', 'copilot', 'gemini', 'claude'])(
  'answers of a workspace with a path of 3,000 bytes have room for words, for %s',
  async (clientName) => {
    const workspace = createTempWorkspace();
    const down = join(...Array<string>(15).fill('한'.repeat(70)));
    const path = join(workspace.path, down);
    mkdirSync(path, { recursive: true });
    for (const name of engines)
      workspace.write(
        join(down, `${name}.mjs`),
        `export default { kind: 'cli', name: '${name}',
          description: 'For tests.', command: 'cat', args: () => [],
          read: (reply, event) => ({ ...reply, ...event }) };`
      );
    const plugins = engines.map((name) => `./${name}.mjs`);
    const config = JSON.stringify({ plugins });
    workspace.write(join(down, 'troupe.config.json'), config);
    const client = await startServer({ ...workspace, path }, { clientName });
    const question = JSON.stringify({
      text: '😀'.repeat(20_000),
      finished: true
    });
    const { text, data } = await client.call('second_opinion', {
      question,
      engines
    });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(
      limitsOf(clientName).answerBytes
    );
    const opinions = data.opinions as Record<string, unknown>[];
    expect(opinions.map(({ engine }) => engine)).toEqual(engines);
    for (const { answer, next_offset } of opinions) {
      expect(answer).toMatch(/^(😀){20}/u);
      expect(next_offset).toBeGreaterThan(40);
    }
    await client.close();
    workspace.remove();
  }
);
