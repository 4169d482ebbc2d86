import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** Codex as its users with a gateway have it; it says what it misses. */
function installCodex(): void {
  workspace.write(
    '../home/.codex/config.toml',
    'model_provider = "gate"\n\n[model_providers.gate]\nname = "Gate"\nbase_url = "http://127.0.0.1:9"\nenv_key = "GATE_PASS"\n'
  );
  workspace.program(
    'codex',
    `const { GATE_PASS, GATE_OTHER } = process.env;
    const say = (event) => console.log(JSON.stringify(event));
    if (process.argv.includes('--version')) console.log('codex-cli 0.169.0');
    else if (process.argv.includes('--help')) console.log('--json --skip-git-repo-check -s -C -m -c --dangerously-bypass-approvals-and-sandbox resume --sandbox --cd --model --config');
    else if (process.argv.includes('login')) { console.error('Not logged in'); process.exit(1); }
    else {
      say({ type: 'thread.started', thread_id: 't' });
      if (!GATE_PASS) {
        say({ type: 'turn.failed', error: { message: 'Missing environment variable: \`GATE_PASS\`.' } });
        process.exit(1);
      }
      say({ type: 'item.completed', item: { type: 'agent_message', text: 'has ' + GATE_PASS.length + ' and ' + GATE_OTHER } });
      say({ type: 'turn.completed', usage: {} });
    }`
  );
}

const troupe = (args: string[], env: Record<string, string> = {}) =>
  runCommand(workspace, args, { env });

test('an agent of Codex gets the key that its own configuration names', async () => {
  installCodex();
  const env = { GATE_PASS: 'sesame', GATE_OTHER: 'x' };
  const { code, stdout } = await troupe(['run', 'codex', 'x'], env);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'has 6 and undefined\n'
  });
  const journal = readFileSync(join(workspace.path, 'logs/IAC.md'), 'utf8');
  expect(journal).not.toContain('sesame');
});

test('an agent that misses a variable says how to hand it on', async () => {
  installCodex();
  const { code, stderr } = await troupe(['run', 'codex', 'x']);
  expect(code).toBe(2);
  expect(stderr).toContain('Missing environment variable: `GATE_PASS`');
  expect(stderr).toContain('"passEnv": ["GATE_PASS"] in engines.codex');
});

test('engines and doctor agree on whether it is ready', async () => {
  installCodex();
  for (const env of [{}, { GATE_PASS: 'sesame' }]) {
    const isSet = 'GATE_PASS' in env;
    const found = await Promise.all(
      ['engines', 'doctor'].map(async (command) => {
        const { stdout } = await troupe([command, '--json'], env);
        return JSON.parse(stdout).engines.find(
          ({ name }: { name: string }) => name === 'codex'
        );
      })
    );
    expect(found[0]).toEqual(found[1]);
    expect(found[0]).toMatchObject({
      ready: isSet,
      login: isSet ? 'logged in' : 'not logged in',
      next: isSet
        ? null
        : "Set GATE_PASS, which Codex's own configuration names for its provider gate."
    });
    const { stdout } = await troupe(['engines'], env);
    expect(stdout).toMatch(
      isSet ? /^codex .* yes /m : /^codex .* not logged in /m
    );
  }
});

test.each(['1', '0'])(
  'Claude gets the credentials of a cloud that its settings switch on (%s)',
  async (value) => {
    workspace.write(
      '../home/.claude/settings.json',
      `{ /* mine */ "env": { "CLAUDE_CODE_USE_BEDROCK": "${value}" } }`
    );
    workspace.program(
      'claude',
      `const { AWS_PROFILE, CLOUD_ML_REGION } = process.env;
      console.log(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: AWS_PROFILE + ' ' + CLOUD_ML_REGION }));`
    );
    const env = { AWS_PROFILE: 'work', CLOUD_ML_REGION: 'x' };
    const { stdout } = await troupe(['run', 'claude', 'x'], env);
    expect(stdout).toBe(
      value === '1' ? 'work undefined\n' : 'undefined undefined\n'
    );
  }
);
