import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { clients } from '../clients/clients.ts';
import { commitLine, planExclude } from './git-exclude.ts';
import type { Plan } from './plan.ts';

let workspace: TempWorkspace;
let exclude: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  exclude = join(workspace.path, '.git', 'info', 'exclude');
  for (const name of ['objects', 'refs', 'info'])
    mkdirSync(join(workspace.path, '.git', name), { recursive: true });
  writeFileSync(join(workspace.path, '.git', 'HEAD'), 'ref: refs/heads/main\n');
});

afterEach(() => workspace.remove());

type Edit = Plan['edit'];

const added: Edit = { change: 'add', text: 'x' };

function plan(edit: Edit = added, name = '.mcp.json', before?: string): Plan {
  return { label: 'x', file: join(workspace.path, name), before, edit };
}

const planned = (...plans: Plan[]) => planExclude(plans, workspace.path);
const lines = (name: string) => `# troupe init\n/${name}\n`;

describe('a file that init makes', () => {
  test.each([
    ['', lines('.mcp.json')],
    ['*.log\n', `*.log\n${lines('.mcp.json')}`],
    ['*.log', `*.log\n${lines('.mcp.json')}`]
  ])('is kept out of git, after "%s"', (before, text) => {
    writeFileSync(exclude, before);
    expect(planned(plan())).toMatchObject({
      ...{ file: exclude, before, edit: { change: 'update', text } }
    });
  });

  test('is named once, with its path from the top of the repository', () => {
    expect(planned(plan(), plan())?.edit).toMatchObject({
      text: lines('.mcp.json')
    });
    expect(planned(plan(added, 'a[1]/x*.json'))?.edit).toMatchObject({
      text: lines('a\\[1\\]/x\\*.json')
    });
    writeFileSync(exclude, lines('.mcp.json'));
    expect(planned(plan())).toBeUndefined();
  });

  test('is no longer kept out when it is removed', () => {
    writeFileSync(exclude, `*.log\n${lines('.mcp.json')}*.tmp\n`);
    const removed: Edit = { change: 'remove', text: undefined };
    expect(planned(plan(removed))?.edit).toEqual({
      ...{ change: 'update', text: '*.log\n*.tmp\n' }
    });
  });
});

test.each<[string, Edit, string | undefined, string]>([
  ['was there before', added, 'x', '.mcp.json'],
  ['is only changed', { change: 'update', text: 'x' }, 'x', '.mcp.json'],
  ['stays', { stays: 'ours' }, 'x', '.mcp.json'],
  ['is elsewhere', added, undefined, '../home/x.json']
])('a file that %s is not kept out', (_, edit, before, name) => {
  expect(planned(plan(edit, name, before))).toBeUndefined();
});

test('nothing is planned outside of a repository, or where .git leads elsewhere', () => {
  const info = join(workspace.path, '.git', 'info');
  rmSync(info, { recursive: true });
  symlinkSync(workspace.home, info);
  expect(planned(plan())).toBeUndefined();
  rmSync(info);
  mkdirSync(exclude, { recursive: true });
  expect(planned(plan())).toBeUndefined();
  rmSync(join(workspace.path, '.git'), { recursive: true });
  expect(planned(plan())).toBeUndefined();
});

test('what can only be written by hand is shown', () => {
  writeFileSync(exclude, Buffer.from([0xff, 0xfe, 0xff]));
  const edit = planned(plan())?.edit;
  expect(edit).toMatchObject({ entry: lines('.mcp.json') });
  const changed: Edit = { change: 'update', text: 'x' };
  expect(planned(plan(changed, '.mcp.json', 'x'))).toBeUndefined();
});

describe('the line about a commit', () => {
  const of = (...plans: Plan[]) =>
    commitLine(
      clients
        .slice(0, 1)
        .flatMap((client) =>
          plans.map((one) => ({ ...one, client, trace: undefined }))
        ),
      workspace.path
    );

  test('names the files with an entry', () => {
    expect(of(plan())).toMatch(/in \.mcp\.json: it holds/);
    expect(of(plan(), plan(added, 'b.json'))).toMatch(
      /in \.mcp\.json, b\.json: they hold/
    );
  });

  test('is missing without an entry, and outside of the workspace or a repository', () => {
    expect(of(plan({ stays: 'foreign' }))).toBeUndefined();
    expect(of(plan(added, '../home/x.json'))).toBeUndefined();
    rmSync(join(workspace.path, '.git'), { recursive: true });
    expect(of(plan())).toBeUndefined();
  });
});
