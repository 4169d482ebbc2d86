import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { documents, packageRoot } from '../kit/judges/documents.ts';
import { createTempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { blockFault } from './block-faults.ts';
import { blocksIn, callIn, inlineCodeIn } from './blocks.ts';
import {
  isLookedAtElsewhere,
  leftOver,
  testsNamed
} from './looked-at-elsewhere.ts';
import { mentionFault } from './own-commands.ts';
import { inputJudge } from './tool-inputs.ts';

const workspace = createTempWorkspace();
const judge = await inputJudge(workspace);
const pages = documents();
const blocks = pages.flatMap(blocksIn);
const open = blocks.filter(
  (block) => !block.isUnchecked && !isLookedAtElsewhere(block)
);

afterAll(() => workspace.remove());

const help =
  'Correct the example. What cannot be checked, such as what a program prints, begins with ```text unchecked';

test('the examples are found at all', () => {
  expect(open.length).toBeGreaterThan(150);
  for (const language of ['json', 'sh', 'text', 'toml', 'js'])
    expect(open.map((block) => block.language)).toContain(language);
});

test('every example is what a server, a client or the command line takes', () => {
  const faults = open.flatMap((block) => {
    const fault = blockFault(block, judge);
    return fault === undefined
      ? []
      : [`${block.path}:${block.line} (${block.language}): ${fault}`];
  });
  expect(faults, help).toEqual([]);
});

test('every command and every call within a sentence is one', () => {
  const faults = pages.flatMap((page) =>
    inlineCodeIn(page).flatMap((code) => {
      const call = callIn(code);
      const fault = /^(troupe|council) /.test(code)
        ? mentionFault(code)
        : call && !call.input.includes('…')
          ? judge(call.tool, call.input)
          : undefined;
      return fault === undefined ? [] : [`${page.path}: ${code}: ${fault}`];
    })
  );
  expect(faults).toEqual([]);
});

test('the list of what is looked at elsewhere is true', () => {
  expect(leftOver(blocks)).toEqual([]);
  for (const file of testsNamed())
    expect(existsSync(join(packageRoot, file)), file).toBe(true);
});

test.each([
  ['json', '{ "maxAcces": "read" }', 'nothing here'],
  ['json', '{ "maxAccess": "none" }', 'maxAccess'],
  [
    'json',
    '{ "mcpServers": { "a": { "command": "npx", "args": ["troupe", "mpc"] } } }',
    'no command "mpc"'
  ],
  ['json', '{ "WRONG_API_KEY": "" }', 'api_keys.example.json has no'],
  [
    'toml',
    '[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "troupe", "mcp", "--nope"]\n',
    'no flag --nope'
  ],
  ['toml', 'a: 1', 'no simple TOML'],
  ['sh', 'cd x && troupe run claude --acess read', 'no flag --acess'],
  ['sh', 'troupe run claude hi --access none', 'Allowed choices'],
  ['sh', 'troupe result', 'an argument is missing'],
  ['sh', 'npm run nothing', 'no script "nothing"'],
  ['text', 'list {"limit": 0}', 'limit'],
  ['text', 'lists {}', 'no tool "lists"'],
  ['text', 'So it says.', 'nothing here'],
  ['js', 'export default { kind: };', 'Unexpected token'],
  ['', 'troupe wait [--anyone]', 'has no --anyone'],
  ['rust', 'fn main() {}', 'nothing here']
])('a wrong example in %s is found: %s', (language, body, fault) => {
  const text = `# A page\n\n\`\`\`${language}\n${body}\n\`\`\`\n`;
  const [block] = blocksIn({ path: 'docs/a-page.md', text });
  expect(block && blockFault(block, judge)).toContain(fault);
});
