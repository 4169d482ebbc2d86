import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type RealCli, testWith } from './clis.ts';
import { createStage } from './stage.ts';

const troupe = join(import.meta.dirname, '../../dist/troupe.cjs');
const server = {
  command: 'node',
  args: [troupe, 'mcp', '--engines', 'rehearsal']
};

interface Words {
  /** Its message that it may not write a file elsewhere. */
  denied: (asked: string, real: string) => string;
  /** Where it reads which MCP servers there are, from the workspace. */
  settings: string;
}

/** What access keeps a CLI from, where its own directory is the border. */
export function limitsSuite(cli: RealCli, { denied, settings }: Words): void {
  const test = testWith(cli);

  describe('a limit of access', () => {
    test('write access has no shell, and ends at the directory', async () => {
      const stage = await createStage(cli);
      const { path, home } = stage.workspace;
      symlinkSync(home, join(path, 'link'));
      const inside = join(path, 'no.txt');
      const real = join(home, 'no.txt');
      const outside = [real, join(path, 'link', 'no.txt')];
      const prompt = `[[shell: echo no > ${inside}]]
        [[write: ${outside[0]} | no]] [[write: ${outside[1]} | no]]
        [[say: I may not.]]`;
      const result = await stage.run(prompt, { access: 'write' });
      expect(result).toMatchObject({
        success: true,
        result: 'I may not.',
        denials: outside.map((asked) => denied(asked, real))
      });
      expect([inside, ...outside].filter(existsSync)).toEqual([]);
    });

    test('read access ends at the directory, also behind a link', async () => {
      const stage = await createStage(cli);
      const { path, home } = stage.workspace;
      symlinkSync(home, join(path, 'link'));
      stage.workspace.write('../home/told.txt', 'not to be told');
      stage.workspace.write('told.txt', 'to be told');
      const files = [home, join(path, 'link'), path].map((folder) =>
        join(folder, 'told.txt')
      );
      const reads = files.map((file) => `[[read: ${file}]]`).join(' ');
      const prompt = `${reads} [[say: I have looked.]]`;
      const result = await stage.run(prompt, { access: 'read' });
      expect(result).toMatchObject({ success: true, result: 'I have looked.' });
      expect(result.denials).toHaveLength(2);
      const seen = stage.turns().at(-1)?.toolResults ?? [];
      expect(seen.map((text) => /(not )?to be told/.exec(text)?.[0])).toEqual([
        undefined,
        undefined,
        'to be told'
      ]);
    });

    test('only full access has MCP servers', async () => {
      const stage = await createStage(cli);
      const mcpServers = { agents: server };
      stage.workspace.write(settings, JSON.stringify({ mcpServers }));
      const offered: Record<string, boolean> = {};
      for (const access of ['read', 'write', 'full']) {
        await stage.run('[[say: Hello.]]', { access });
        const { tools = [] } = stage.turns().at(-1) ?? {};
        offered[access] = tools.some((name) => name.includes('agents'));
      }
      expect(offered).toEqual({ read: false, write: false, full: true });
    });
  });
}
