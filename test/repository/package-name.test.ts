import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../kit/judges/documents.ts';

const about = z
  .object({ private: z.boolean().optional() })
  .parse(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')));

/** What people, clients and agents read: all but our tests and our own code. */
const readAloud =
  /^(README|SECURITY|CONTRIBUTING|AGENTS|CHANGELOG)\.md$|^(agents|docs|examples|integrations|prompts|templates|\.claude-plugin)\/|^plugins\/[^/]*\.md$|^(server|\.mcp)\.json$|^src\/cli\/(?!.*\.test\.ts$)|^scripts\/\w+\.cjs$/;

/** Commands that take a package of this name from the registry. */
const fromRegistry =
  /\b(npx|bunx|pnpm dlx|yarn dlx|npm exec)( -\S+)* (troupe|council)\b|\b(npm|pnpm|yarn|bun) (i|install|add)( -\S+)* troupe\b/;

/** The words of a command, also where they are a list of JSON or TOML. */
function plainWords(text: string): string {
  return text
    .replace(/"?args"? ?[:=]|[^\S ]|["',[\]`]/g, ' ')
    .replace(/ +/g, ' ');
}

function commandIn(text: string): string | undefined {
  return fromRegistry.exec(plainWords(text))?.[0];
}

test.each([
  'Run `npx -y troupe mcp`.',
  'npx troupe doctor',
  'claude mcp add council -- npx -y -p troupe council mcp',
  'npm i -g troupe',
  'npm install -g troupe@latest',
  'npm install --save-dev troupe   # or so',
  '"command": "npx",\n  "args": [\n    "-y",\n    "troupe",\n    "mcp"\n  ]',
  'command = "npx"\nargs = ["-y", "troupe", "mcp"]'
])('%j runs a package of the registry', (text) => {
  expect(commandIn(text)).toBeDefined();
});

test.each([
  'npm ci && npm install -g .',
  'npm install --save-dev /absolute/path/to/troupe',
  '"command": "troupe", "args": ["mcp"]',
  'npx vitest run --project unit src/core'
])('%j does not', (text) => {
  expect(commandIn(text)).toBeUndefined();
});

test.runIf(about.private)(
  'nothing runs the name of the package from the registry while that is not ours',
  () => {
    const files = execFileSync('git', ['ls-files', '-z'], {
      cwd: packageRoot,
      encoding: 'utf8'
    });
    const read = files.split('\0').filter((path) => readAloud.test(path));
    expect(read.length).toBeGreaterThan(100);
    const commands = read.flatMap((path) => {
      const command = commandIn(readFileSync(join(packageRoot, path), 'utf8'));
      return command === undefined ? [] : [`${path}: ${command}`];
    });
    expect(commands).toEqual([]);
  }
);
