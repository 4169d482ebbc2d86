import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import {
  allClis,
  furnishHome,
  type RealCli,
  testWith,
  userEnvironment
} from './clis.ts';

for (const cli of allClis) {
  const test = testWith(cli);

  test(`doctor finds the real ${cli.name} ready and verified`, async () => {
    const { version, ready, tested } = await diagnosis(cli, cli.name);
    expect({ version, ready, ...tested }).toEqual({
      version: expect.stringContaining(tested.verified.newest),
      ready: true,
      says: 'verified',
      verified: tested.verified,
      gone: []
    });
  });

  test(`doctor sees that the real ${cli.name} lacks a flag`, async () => {
    const lacking = await diagnosis(cli, 'lacking', (workspace) => {
      const help = cli.name === 'codex' ? ['exec', '--help'] : ['--help'];
      workspace.write(
        'lacking.mjs',
        `export default {
          kind: 'cli', name: 'lacking', description: 'x',
          command: '${cli.program}',
          args: () => ['--help', '--model', 'x', '--mod', 'x'],
          probe: { help: [${JSON.stringify(help)}] }
        };`
      );
      workspace.write('.trouperc.json', '{"plugins": ["./lacking.mjs"]}');
    });
    expect(lacking).toMatchObject({
      ready: false,
      tested: { says: 'flag --mod is gone', gone: ['--mod'] }
    });
  });
}

async function diagnosis(
  cli: RealCli,
  engine: string,
  prepare?: (workspace: TempWorkspace) => void
) {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  furnishHome(workspace.home, [cli]);
  prepare?.(workspace);
  const args = ['doctor', '--json', '--engines', engine];
  const env = userEnvironment(cli);
  const { stdout } = await runCommand(workspace, args, { env });
  return JSON.parse(stdout).engines[0];
}
