import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/** An engine `puppet`: a worker's program that stays and does nothing. */
export function writePuppet(workspace: TempWorkspace): void {
  workspace.program('puppet', puppet);
  workspace.write('puppet.mjs', puppetEngine);
}

/** The id of the puppet of a name, once its program runs. */
export function puppetCalled(name: string, { bin }: TempWorkspace) {
  const text = readFileSync(join(bin, 'puppet.log'), {
    encoding: 'utf8',
    flag: 'a+'
  });
  return text
    .split('\n')
    .find((line) => line.endsWith(` ${name}`))
    ?.slice(0, 8);
}

const puppetEngine = `export default {
  kind: 'cli', name: 'puppet', description: 'For tests.', command: 'puppet',
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  args: ({ prompt }) => [prompt],
  connect: () => ({ args: [] }),
  interactive: { args: ({ prompt }) => [prompt] }
};\n`;

/** Says its name where the test sees it, and stays, in its first lives. */
const puppet = `
const fs = require('node:fs');
const [, name] = /You are the worker "(.*)" \\(/.exec(process.argv[2]);
const line = process.env.TROUPE_AGENT_ID + ' ' + name + '\\n';
const log = __dirname + '/puppet.log';
fs.appendFileSync(log, line);
console.log('puppet ' + name);
const starts = fs.readFileSync(log, 'utf8').split(line).length - 1;
if (starts > Number(process.env.PUPPET_LIVES || 1e6)) process.exit(4);
setInterval(() => undefined, 1e6);
`;
