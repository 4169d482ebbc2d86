import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { type Client, clients, forUser } from '../clients/clients.ts';
import type { SetUpContext, SetUpFlags } from './dialog.ts';
import { setUp } from './set-up.ts';

let workspace: TempWorkspace;
/** What a person sees, in order. */
let seen: string[];
/** The questions that the person was asked. */
let asked: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  [seen, asked] = [[], []];
  vi.stubEnv('HOME', workspace.home);
  vi.stubEnv('PATH', workspace.bin);
  for (const name of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'TROUPE_AGENT_ID'])
    vi.stubEnv(name, undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  workspace.remove();
});

const say = (text: string) => {
  seen.push(text);
};

const screen: SetUpContext['screen'] = {
  ...{ begin: say, report: say, good: say, warn: say, end: say },
  show: async (heading, lines) => say([heading, ...lines].join('\n')),
  quote: async (heading, text) => say(`${heading}\n${text}`),
  during: (what, work) => {
    say(what);
    return work();
  }
};

/** What a person answers. */
interface Answers {
  isForUser?: boolean;
  clients?: string[];
  write?: boolean;
  trust?: boolean;
  extras?: boolean;
}

function person(answers: Answers): NonNullable<SetUpContext['questions']> {
  const noted = <T>(question: string, answer: T): Promise<T> => {
    asked.push(question);
    return Promise.resolve(answer);
  };
  return {
    isForUser: () => noted('isForUser', answers.isForUser ?? false),
    clients: (plans, isRemoval) =>
      noted(
        `clients ${isRemoval ? 'to remove' : 'to add'}`,
        plans
          .map(({ client }) => client)
          .filter(({ name }) => answers.clients?.includes(name))
      ),
    access: () => noted('access', 'read'),
    extras: (missing) =>
      noted(`extras ${missing.join()}`, answers.extras ? missing : []),
    write: (files, isRemoval) =>
      noted(
        `${isRemoval ? 'remove' : 'write'} ${files}`,
        answers.write ?? true
      ),
    trust: () => noted('trust', answers.trust ?? false),
    engine: () => noted('engine', undefined)
  };
}

const named = (...names: string[]): Client[] =>
  clients.filter(({ name }) => names.includes(name));

function init(
  names: string[],
  flags: Partial<SetUpFlags> = {},
  answers?: Answers
): Promise<number> {
  return setUp(named(...names), {
    workspace: workspace.path,
    flags: { check: false, ...flags },
    screen,
    questions: answers && person(answers)
  });
}

const isThere = (name: string) => existsSync(join(workspace.path, name));
const read = (name: string) => readFileSync(join(workspace.path, name), 'utf8');
const extras = '.claude/settings.local.json';

describe('a person', () => {
  test('is asked for the projects, the access, the extras and the consent', async () => {
    expect(await init(['claude'], {}, { extras: true })).toBe(0);
    expect(asked).toEqual([
      ...['isForUser', 'access', 'extras wake,status', 'write 3']
    ]);
    expect(JSON.parse(read('troupe.config.json')).maxAccess).toBe('read');
    expect(isThere('.mcp.json')).toBe(true);
    expect(JSON.parse(read(extras))).toHaveProperty('statusLine');
    expect(seen.at(-1)).toBe('done');
  });

  test('that does not want the extras gets none', async () => {
    await init(['claude'], {}, {});
    expect(isThere(extras)).toBe(false);
  });

  test('that does not consent gets nothing, and an exit code of 1', async () => {
    expect(await init(['claude'], {}, { write: false })).toBe(1);
    expect(isThere('.mcp.json')).toBe(false);
    expect(seen.at(-1)).toBe('nothing was written');
  });

  test('is not asked again for what is there', async () => {
    await init(['claude'], {}, {});
    asked = [];
    expect(await init(['claude'], {}, {})).toBe(0);
    expect(asked).toEqual(['extras wake,status']);
    expect(seen.at(-1)).toBe('nothing to do');
  });

  test('is asked which clients, and may choose none', async () => {
    expect(await init([], {}, { clients: ['codex'] })).toBe(0);
    expect(asked).toContain('clients to add');
    expect([isThere('.codex/config.toml'), isThere('.mcp.json')]).toEqual([
      ...[true, false]
    ]);
    expect(await init([], {}, { clients: [] })).toBe(1);
    expect(seen.at(-1)).toBe('no client was chosen: nothing was written');
  });

  test('may set up all projects', async () => {
    expect(await init(['claude'], {}, { isForUser: true })).toBe(0);
    expect(existsSync(join(workspace.home, '.claude.json'))).toBe(true);
    expect(isThere('.mcp.json')).toBe(false);
  });

  test('removes from the clients with an entry alone', async () => {
    await init(['claude', 'codex'], {}, {});
    asked = [];
    const flags = { remove: true };
    expect(await init([], flags, { clients: ['codex'] })).toBe(0);
    expect(asked).toEqual(['clients to remove', 'remove 1']);
    expect([isThere('.codex/config.toml'), isThere('.mcp.json')]).toEqual([
      ...[false, true]
    ]);
    expect(seen.at(-1)).toBe(
      'troupe is removed; still here: maxAccess in troupe.config.json'
    );
  });

  test('is asked for trust of the settings of the workspace, and may give it', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
    await init(['claude'], {}, {});
    expect(asked).toContain('trust');
    expect(seen.join('\n')).toMatch(/not trusted: 1 setting of/);
    await init(['claude'], {}, { trust: true });
    expect(seen).toContain('trusted');
    asked = [];
    await init(['claude'], {}, {});
    expect(asked).not.toContain('trust');
  });
});

describe('flags', () => {
  test('--hooks and --yes add the extras without a question', async () => {
    expect(await init(['claude'], { yes: true, hooks: true })).toBe(0);
    expect(isThere(extras)).toBe(true);
    expect(await init(['claude'], { yes: true, remove: true })).toBe(0);
    expect(isThere(extras)).toBe(false);
  });

  test('--access sets the ceiling, also in place of one that is there', async () => {
    const ceiling = () => JSON.parse(read('troupe.config.json')).maxAccess;
    await init(['claude'], { yes: true, access: 'read' });
    expect(ceiling()).toBe('read');
    await init(['claude'], { yes: true });
    expect(ceiling()).toBe('read');
    await init(['claude'], { access: 'full' }, {});
    expect(ceiling()).toBe('full');
    expect(asked).not.toContain('access');
    workspace.write('troupe.config.json', '{}');
    await init(['claude'], { yes: true, remove: true });
    expect(read('troupe.config.json')).toBe('{}');
  });

  test('--user is for clients with such settings only', async () => {
    const flags = { yes: true, user: true };
    for (const { name } of clients.filter((one) => !forUser(one)))
      await expect(init([name], flags)).rejects.toMatchObject({
        code: 'invalid_input'
      });
    expect(await init(['claude'], flags)).toBe(0);
    expect(existsSync(join(workspace.home, '.claude.json'))).toBe(true);
  });

  test('--remove names the record and the files that stay', async () => {
    await init(['claude'], { yes: true });
    workspace.write('logs/IAC.md', '');
    workspace.write('.agents/x', '');
    workspace.writeRecord('x', '');
    expect(await init(['claude'], { yes: true, remove: true })).toBe(0);
    expect(seen.at(-1)).toBe(
      `troupe is removed; still here: maxAccess in troupe.config.json, logs/, .agents/ and the record in ${workspace.record}`
    );
  });

  test('--yes looks for the engines whose variables an entry names', async () => {
    await init(['codex'], { yes: true });
    expect(seen).toContain('looking which engines are ready');
  });

  test.each<[string, string[], Partial<SetUpFlags>]>([
    ['no client and no consent', [], {}],
    ['--remove', ['codex'], { yes: true, remove: true }]
  ])('%s looks for no engine', async (_, names, flags) => {
    await init(names, flags);
    expect(seen).not.toContain('looking which engines are ready');
  });

  test('--dry-run writes nothing and asks nothing', async () => {
    expect(await init(['claude'], { dryRun: true }, {})).toBe(0);
    expect(isThere('.mcp.json')).toBe(false);
    expect(asked).not.toContain('write 2');
  });
});

test('a file that cannot be written is named, and does not keep the others back', async () => {
  workspace.write('.codex/config.toml', '# mine\n');
  chmodSync(join(workspace.path, '.codex', 'config.toml'), 0o444);
  expect(await init(['claude', 'codex'], { yes: true })).toBe(1);
  expect(isThere('.mcp.json')).toBe(true);
  expect(read('.codex/config.toml')).toBe('# mine\n');
});
