import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packageRoot } from '../kit/judges/documents.ts';
import { runCommand } from '../kit/servers/command-line.ts';
import { testTmux } from '../kit/workspaces/tmux-stage.ts';
import { expectGolden, leftOver } from './golden-files.ts';
import { type GoldenStage, goldenEnvironment } from './golden-stage.ts';
import { steady } from './golden-steady.ts';
import { goldenTerminal } from './golden-terminal.ts';

export interface GoldenCase {
  /** Of its file. */
  name: string;
  args: string[];
  /** Where it is run; each form of it again when it changes something. */
  stage: () => GoldenStage | Promise<GoldenStage>;
  env?: Record<string, string>;
  stdin?: string;
  /** Whether it has `--json`; true when left out. */
  json?: boolean;
  /** Whether it is shown on terminals; true when left out. */
  terminal?: boolean;
  /** False: what it does meanwhile is left out, as that depends on the time. */
  steps?: boolean;
}

const troupe = join(packageRoot, 'dist', 'troupe.cjs');
const widths = [80, 120];
/** `     0.4 s  reading the tests`. */
const steps = /^(?:‹dim\|)? *[\d.]+ s {2}.*\n/gm;

/**
 * For each case a test, which compares what the command shows on terminals of
 * 80 and 120 columns, in a pipe and as JSON with a file of `golden/`.
 */
export function goldenCases(set: string, cases: GoldenCase[]): void {
  const terminal = goldenTerminal();
  afterAll(() => terminal.close());
  for (const one of cases) {
    const command = `troupe ${one.args.join(' ')}`.trim();
    testTmux(
      `"${command}" shows what golden/${set}/${one.name} says`,
      async () => {
        const shown = await Promise.all([
          ...(one.terminal === false ? [] : widths).map((columns) =>
            onTerminal(one, columns)
          ),
          inPipe(one, []),
          ...(one.json === false ? [] : [inPipe(one, ['--json'])])
        ]);
        const text = `$ ${command}\n\n${shown.join('\n')}`;
        expectGolden(
          `${set}/${one.name}`,
          one.steps === false ? text.replace(steps, '') : text
        );
      }
    );
  }
  test(`golden/${set} has no file that is left over`, () => {
    expect(
      leftOver(
        set,
        cases.map(({ name }) => name)
      )
    ).toEqual([]);
  });

  async function onTerminal(one: GoldenCase, columns: number) {
    const { workspace, ids } = await one.stage();
    const screen = await terminal.start(
      {
        words: [process.execPath, troupe, ...one.args],
        cwd: workspace.path,
        env: goldenEnvironment(workspace, one.env)
      },
      { columns }
    );
    const { shown, code } = await screen.ended();
    return `== ${columns} columns, exit code ${code}\n${steady(shown, ids)}`;
  }
}

async function inPipe(one: GoldenCase, flags: string[]): Promise<string> {
  const { workspace, ids } = await one.stage();
  const { code, stdout, stderr } = await runCommand(
    workspace,
    [...one.args, ...flags],
    {
      env: goldenEnvironment(workspace, one.env),
      ...(one.stdin === undefined ? {} : { stdin: one.stdin })
    }
  );
  const title = `== ${['in a pipe', ...flags].join(' ')}, exit code ${code}`;
  const said = stderr === '' ? '' : `-- stderr\n${stderr}`;
  return `${title}\n${steady(`${stdout}${said}`, ids)}`;
}
