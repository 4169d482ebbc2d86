import { join } from 'node:path';
import { runCommand } from '../servers/command-line.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

export interface MadeUp {
  version?: string;
  /** What answers to `--help`. */
  helps?: string;
  probe?: object;
  /** What its plugin gives it; `model` and `access` are there. */
  args?: string;
}

/** The versions that it was tested with. */
export const range = { oldest: '1.4.0', newest: '1.6.2' };

export const help = [
  'Usage: made-up [options]',
  '',
  '  -s, --sandbox <mode>',
  '      --json            Print JSON',
  '  -m, --model <name>'
];

/** Puts a program and its plugin in place, which gives three flags. */
export function makeUp(
  workspace: TempWorkspace,
  {
    version = '1.5.0',
    helps = printed(help),
    probe = { verified: range },
    args = `['exec', '--json', '-s', access, ...(model ? ['--model', model] : [])]`
  }: MadeUp = {}
): void {
  const calls = JSON.stringify(join(workspace.home, 'calls'));
  workspace.program(
    'made-up',
    `const args = process.argv.slice(2).join(' ');
     require('node:fs').appendFileSync(${calls}, args + '\\n');
     if (args.includes('--help')) { ${helps} }
     else console.log(${JSON.stringify(version)});`
  );
  workspace.write(
    'made-up.mjs',
    `export default {
      kind: 'cli', name: 'made-up', description: 'x', command: 'made-up',
      install: 'npm install -g @made/up',
      args: ({ model, access }) => ${args},
      probe: ${JSON.stringify(probe)}
    };`
  );
  workspace.write('.trouperc.json', '{"plugins": ["./made-up.mjs"]}');
}

/** What a program does that prints these lines. */
export function printed(lines: string[], stream = 'log'): string {
  return `console.${stream}(${JSON.stringify(lines.join('\n'))});`;
}

/** What doctor says of it. */
export async function madeUpCheck(workspace: TempWorkspace) {
  const { code, stdout } = await madeUpDoctor(workspace, '--json');
  const { engines, next } = JSON.parse(stdout);
  return { code, ...engines[0], steps: next };
}

export function madeUpDoctor(workspace: TempWorkspace, ...args: string[]) {
  const env = { PATH: workspace.bin };
  const flags = ['doctor', '--engines', 'made-up', ...args];
  return runCommand(workspace, flags, { env });
}
