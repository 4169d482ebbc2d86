import { createProgram } from '../../../src/cli/entry/program.ts';
import { type GoldenCase, goldenCases } from '../../golden/golden-cases.ts';
import { goldenStages } from '../../golden/golden-stages.ts';

const stages = goldenStages();
const empty = stages.shared({ agents: [] });

const look = (name: string, ...args: string[]): GoldenCase => ({
  name,
  args,
  stage: empty
});

const plain = (name: string, ...args: string[]): GoldenCase => ({
  ...look(name, ...args),
  json: false
});

const commands = createProgram()
  .commands.map((command) => command.name())
  .filter((name) => !name.startsWith('_'));

goldenCases('facts', [
  look('engines', 'engines'),
  look('roles', 'roles'),
  look('roles-one', 'roles', 'code-reviewer'),
  look('doctor', 'doctor'),
  look('config', 'config'),
  { ...plain('init', 'init'), terminal: false },
  {
    ...plain('init-dry-run', 'init', 'claude', 'codex', '--dry-run'),
    terminal: false
  },
  plain('completion', 'completion', 'fish'),
  plain('council', 'council')
]);

goldenCases('help', [
  plain('troupe'),
  plain('council-mcp', 'council', 'mcp', '--help'),
  ...commands.map((name) => plain(name, 'help', name))
]);

goldenCases('mistakes', [
  look('command', 'lst'),
  look('flag', 'list', '--lmit', '3'),
  look('value', 'list', '--limit', 'ten'),
  look('argument', 'run'),
  look('engine', 'run', 'cluade', 'explain this'),
  look('engine-offered', 'engines', '--engines', 'nobody'),
  look('id', 'cancel', '12345678'),
  look('role', 'roles', 'code-reviwer'),
  look('workspace', 'list', '--workspace', 'nowhere'),
  plain('client', 'init', 'claud')
]);
