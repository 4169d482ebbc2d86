import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DoctorDocument, EngineCheck } from '../json/setup-documents.ts';
import { diagnosisText, nextSteps } from './doctor-report.ts';

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
});

afterEach(() => {
  vi.unstubAllEnvs();
});

function engine(changes: Partial<EngineCheck> = {}): EngineCheck {
  return {
    ...{ name: 'claude', kind: 'cli', tool: 'spawn_claude', description: 'x' },
    ...{ available: true, command: 'claude', path: '/bin/claude' },
    access: { read: 'enforced', write: 'enforced', full: 'asked' },
    models: { default: null, aliases: {} },
    ...{ keys: [], pass_env: [], version: '2.1.7', tested: null },
    ...{ login: 'logged in', ready: true, next: null },
    ...changes
  };
}

function found(changes: Partial<DoctorDocument> = {}): DoctorDocument {
  return {
    ...{ ok: true, version: '1.0.0', workspace: '/w' },
    config: { file: null, problem: null },
    node: { version: '22.0.0', required: '20.19', ok: true },
    ...{ directories: [], unsafe: null, orphans: [], tmux: null },
    ...{ squads: [], engines: [engine()], left_out: [], faults: [] },
    next: [],
    ...changes
  };
}

const missing = engine({
  ...{ name: 'codex', available: false, path: null, command: 'codex' },
  ...{ version: null, ready: false, next: 'Install it: npm i codex' }
});

const leftOut = { setting: 'plugins', allows: 'runs code', changed: false };

describe('the next steps', () => {
  const tryIt = 'Try: troupe run claude "explain this repository"';

  test.each<[string, string, Partial<DoctorDocument>]>([
    ['an invalid file', 'Bad.', { config: { file: null, problem: 'Bad.' } }],
    [
      'settings without trust',
      'Look at what this workspace asks for, and trust it if you want that: troupe trust (1 setting left out)',
      { left_out: [leftOut] }
    ],
    ['an unsafe state', 'Not safe.', { unsafe: 'Not\nsafe.' }],
    [
      'a plugin that does not load',
      'Fix the plugin p, or remove it from "plugins": It failed.',
      { faults: [{ plugin: 'p', problem: 'It\nfailed.' }] }
    ],
    [
      'an unknown engine in the settings',
      'Correct the name typo in "engines", or take it out: Unknown.',
      { faults: [{ plugin: 'typo', problem: 'Unknown.' }] }
    ],
    ['a fault of squads', 'No role.', { squads: ['No\nrole.'] }],
    [
      'an old Node',
      'Use Node 20.19 or newer.',
      { node: { version: '18.0.0', required: '20.19', ok: false } }
    ],
    [
      'a directory that is not writable',
      'Make /w/logs a directory you may write to.',
      { directories: [{ path: '/w/logs', state: 'not writable' }] }
    ],
    [
      'one orphan',
      'Records of workspaces that are gone: /a. Where one was moved, run "troupe record --from OLD_PATH" in its new place; to remove them: troupe clean --orphans',
      { orphans: ['/a'] }
    ],
    [
      'three orphans',
      'Records of workspaces that are gone: /a and 2 more. Where one was moved, run "troupe record --from OLD_PATH" in its new place; to remove them: troupe clean --orphans',
      { orphans: ['/a', '/b', '/c'] }
    ],
    [
      'an engine that is there and not ready',
      'codex: Log in.',
      {
        engines: [
          engine(),
          engine({ name: 'codex', ready: false, next: 'Log in.' })
        ]
      }
    ]
  ])('begin with %s', (_, step, changes) => {
    expect(nextSteps(found(changes), ['typo'])).toEqual([step, tryIt]);
  });

  test('need none of a directory that will be made, of trust that is lacking, or of an engine that is not installed while another is ready', () => {
    const changes: Partial<DoctorDocument> = {
      directories: [{ path: '/w/logs', state: 'created when needed' }],
      engines: [missing, engine()]
    };
    expect(nextSteps(found(changes), [])).toEqual([tryIt]);
    const untrusted = { left_out: [leftOut] };
    const faults = [{ plugin: 'plugins', problem: 'left out' }];
    expect(nextSteps(found({ ...untrusted, faults }), [])).toHaveLength(2);
  });

  test('say how to install an engine when none is ready, and what needs none', () => {
    expect(nextSteps(found({ engines: [missing] }), [])).toEqual([
      'codex: Install it: npm i codex',
      'Try: troupe run rehearsal "say hello", which asks no model'
    ]);
  });
});

describe('the diagnosis', () => {
  /** The lines with this name, without the name. */
  const lines = (name: string, changes: Partial<DoctorDocument>) =>
    diagnosisText(found(changes))
      .split('\n')
      .filter((line) => line.startsWith(`  ${name.padEnd(10)} `))
      .map((line) => line.slice(13));

  const engines = (changes: Partial<EngineCheck>) => ({
    engines: [engine(changes)]
  });

  test.each<[string, string, Partial<DoctorDocument>]>([
    ['config', 'none, defaults are used', {}],
    ['config', 'a.json', { config: { file: 'a.json', problem: null } }],
    ['config', 'not valid', { config: { file: 'a.json', problem: 'Bad.' } }],
    ['node', '22.0.0 (needs 20.19 or newer)', {}],
    ['tmux', 'not installed (needed for the orchestrator toolset only)', {}],
    [
      'tmux',
      'tmux 3.4 /bin/tmux',
      { tmux: { path: '/bin/tmux', version: 'tmux 3.4' } }
    ],
    ['tmux', '/bin/tmux', { tmux: { path: '/bin/tmux', version: null } }],
    ['state', 'not safe', { unsafe: 'x' }],
    ['squads', 'at fault', { squads: ['x'] }],
    [
      'logs',
      'writable',
      { directories: [{ path: '/w/logs', state: 'writable' }] }
    ],
    [
      'record',
      'not writable, /r/x',
      { directories: [{ path: '/r/x', state: 'not writable' }] }
    ],
    ['program', '/bin/claude', {}],
    ['program', '"claude" is not on PATH', engines({ path: null })],
    ['version', '2.1.7', {}],
    ['version', 'unknown', engines({ version: null })],
    ['login', 'logged in', {}],
    ['login', 'unknown', engines({ login: null })],
    ['access', 'read enforced, write enforced, full asked', {}],
    ['keys', 'none seen', {}],
    [
      'keys',
      'A_KEY (environment)',
      engines({ keys: [{ name: 'A_KEY', from: 'environment' }] })
    ],
    [
      'passEnv',
      'A (set), B (not set)',
      engines({
        pass_env: [
          { name: 'A', is_set: true },
          { name: 'B', is_set: false }
        ]
      })
    ],
    ['next', 'Log in.', engines({ next: 'Log in.' })],
    [
      'plugin',
      'p.mjs, in place of the built-in engine',
      engines({ replaced_by: 'p.mjs' })
    ],
    [
      'tested',
      'verified',
      engines({ tested: { says: 'verified', verified: null, gone: null } })
    ]
  ])('has %s: %s', (name, text, changes) => {
    expect(lines(name, changes)).toEqual([text]);
  });

  test.each(['state', 'squads', 'plugin', 'passEnv', 'next', 'tested'])(
    'has no line %s without a reason',
    (name) => {
      expect(lines(name, {})).toEqual([]);
    }
  );

  test('has no program, version or login of an API, and no version of a missing program', () => {
    const api = engines({ kind: 'api', path: null, access: null });
    for (const name of ['program', 'version', 'login', 'access'])
      expect(lines(name, api)).toEqual([]);
    for (const name of ['version', 'login'])
      expect(lines(name, engines({ path: null }))).toEqual([]);
  });

  test('lists what is left out, what does not load, and the steps', () => {
    const text = diagnosisText(
      found({
        left_out: [leftOut],
        faults: [
          { plugin: 'plugins', problem: 'left out' },
          { plugin: 'p', problem: 'It failed.' }
        ],
        next: ['First.', 'Second.']
      })
    );
    expect(text).toContain(
      '\n\nLeft out: the workspace is not trusted\n  plugins: runs code\n\n'
    );
    expect(text).toContain(
      '\n\nPlugins that do not load\n  p          It failed.\n\n'
    );
    expect(text).toMatch(/What to do next\n {2}1. First.\n {2}2. Second.\n$/);
    const changed = { left_out: [{ ...leftOut, changed: true }] };
    expect(diagnosisText(found(changed))).toContain(
      'Left out: the workspace has changed since you trusted it'
    );
    expect(diagnosisText(found())).not.toMatch(/Left out|do not load/);
  });

  test('is red for what does not work, yellow for a doubt, green for the rest', () => {
    vi.unstubAllEnvs();
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('FORCE_COLOR', '1');
    const text = (changes: Partial<DoctorDocument>) =>
      diagnosisText(found(changes));
    const [red, yellow, green] = ['\u001b[31m', '\u001b[33m', '\u001b[32m'];
    const tested = (says: string, gone: string[] = []) =>
      engines({ tested: { says, verified: null, gone } });
    expect(text({})).toContain(`${green}22.0.0`);
    expect(text({})).toContain(`: ${green}ready`);
    expect(text({})).not.toContain(red);
    expect(
      text({ node: { version: '18', required: '20.19', ok: false } })
    ).toContain(`${red}18`);
    expect(text(engines({ ready: false }))).toContain(`: ${red}not ready`);
    expect(text(engines({ version: null }))).toContain(`${yellow}unknown`);
    expect(text(tested('newer'))).toContain(`${yellow}newer`);
    expect(text(tested('verified'))).toMatch(/tested {5}verified/);
    expect(text(tested('lost', ['--x']))).toContain(`${red}lost`);
    const directory = (state: 'writable' | 'not writable') =>
      text({ directories: [{ path: '/r', state }] });
    expect(directory('not writable')).toContain(`${red}not writable`);
    expect(directory('writable')).not.toContain(red);
  });
});
