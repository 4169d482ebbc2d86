import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { runScript } from '../../kit/agents/own-script.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const media = join(packageRoot, 'docs', 'media');
const names = ['demo', 'init'];
const read = (name: string) => readFileSync(join(media, name), 'utf8');

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** Sessions have the system's programs, and were recorded without these. */
const agents = ['claude', 'codex', 'copilot', 'cursor-agent', 'gemini'].filter(
  (name) => locate(name, '/usr/bin:/bin') !== undefined
);
const testTmux = needing(
  'tmux and bash, and no agent program beside them',
  locate('tmux') !== undefined &&
    locate('bash') !== undefined &&
    agents.length === 0
);

for (const name of names)
  testTmux(
    `the session "${name}" shows today what it showed then`,
    async () => {
      const args = ['--check', name];
      const ended = await runScript(workspace, 'record-session.mjs', ...args);
      expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
    }
  );

const headSchema = z.object({
  version: z.literal(2),
  width: z.number().int(),
  height: z.number().int()
});
const eventSchema = z.tuple([z.number(), z.literal('o'), z.string()]);

test.each(names)('the recording "%s" is an asciicast', (name) => {
  const [head = '', ...lines] = read(`${name}.cast`).trimEnd().split('\n');
  headSchema.parse(JSON.parse(head));
  const events = lines.map((line) => eventSchema.parse(JSON.parse(line)));
  const times = events.map(([at]) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const shown = events.map(([, , text]) => text).join('');
  const [typed = ''] = read(`${name}.txt`).split('\n');
  expect(shown).toContain(typed.replace('$ ', ''));
});

test.each(names)('the picture of "%s" ends with what was there', (name) => {
  const svg = read(`${name}.svg`);
  const texts = new Map(
    [...svg.matchAll(/<g id="(l\d+)">(.*)<\/g>/g)].map(
      ([, id = '', line = '']) => [id, squeezed(textOf(line))] as const
    )
  );
  const last = svg.split('<g transform="translate(').at(-1) ?? '';
  const drawn = [...last.matchAll(/href="#(l\d+)"/g)].map(([, id = '']) =>
    texts.get(id)
  );
  expect(drawn.length).toBeGreaterThan(10);
  // A line that the terminal broke is whole there.
  expect(squeezed(read(`${name}.txt`)).endsWith(drawn.join(''))).toBe(true);
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).toContain('prefers-reduced-motion');
});

test('recordings are small and reveal nothing of the machine', () => {
  for (const file of names.flatMap((name) =>
    ['cast', 'svg', 'txt'].map((ending) => `${name}.${ending}`)
  )) {
    expect(statSync(join(media, file)).size, file).toBeLessThan(150_000);
    const paths = read(file).match(/(?<=[ "'])\/\w[\w/.-]+/g) ?? [];
    for (const path of paths)
      expect(path).toMatch(/^\/(path\/to\/troupe|home\/you\/project)\b/);
    expect(read(file)).not.toMatch(/\w@\w+[:~]|:\/\/(?!www\.w3\.org)/);
  }
});

function textOf(line: string): string {
  return line
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/** Where pieces of one line meet is no matter. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}
