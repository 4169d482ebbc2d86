import type { Command } from 'commander';
import { checkRolesDirectory } from '../../../config/squads.ts';
import { didYouMean } from '../../../core/nearest.ts';
import type { LocatedRole } from '../../../core/squads/role-repository.ts';
import type { Host } from '../../../host/host.ts';
import { print, printJson, printWords, report } from '../../output/output.ts';
import { type Cell, type Column, table } from '../../output/table.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags
} from '../command-options.ts';

interface RolesFlags extends WorkspaceFlags {
  agentsDirectoryPath?: string;
}

export function addRoles(program: Command): void {
  addWorkspaceFlags(
    program
      .command('roles')
      .description('roles for squads, or the whole text of one')
      .argument('[id]', 'a role to print whole')
      .option(
        '--agents-directory-path <dir>',
        'role files, relative to the workspace (default: agents)'
      )
      .option('--json', 'print JSON'),
    ['troupe roles', 'troupe roles code-reviewer', 'troupe roles --json']
  ).action(async (id: string | undefined, flags: RolesFlags) =>
    exitAfter({ ...flags, ...asServed }, (host) =>
      id === undefined ? roles(host, flags) : role(host, id, flags)
    )
  );
}

/** Flags that load the roles as a server with squads does. */
const asServed = { toolsets: 'squad', forSquads: true };

/** Reading the roles has already logged their faults to stderr. */
async function roles(host: Host, { json }: JsonFlag): Promise<number> {
  checkRolesDirectory(host.config);
  const { roles, faults } = await host.squads.roles();
  const found = roles.map(factsOf);
  if (json) {
    const problems = faults.map(({ id, path, problem }) => ({
      id,
      path,
      problem
    }));
    await printJson({ roles: found, faults: problems });
  } else await print(table(columns, roles.map(row)));
  return faults.length === 0 ? exitCodes.done : exitCodes.error;
}

async function role(
  host: Host,
  id: string,
  { json }: JsonFlag
): Promise<number> {
  checkRolesDirectory(host.config);
  const { roles, faults } = await host.squads.roles();
  const role = roles.find((role) => role.id === id);
  if (role) {
    const { body } = role;
    if (json) await printJson({ ...factsOf(role), body });
    else await printWords(`${body}\n`);
    return exitCodes.done;
  }
  const fault = faults.find((fault) => fault.id === id);
  const problem = fault?.problem ?? 'There is no such role.';
  if (json) await printJson({ id, path: fault?.path ?? null, problem });
  if (!fault) {
    const meant = didYouMean(
      id,
      roles.map((role) => role.id)
    );
    report(`There is no role "${id}". ${meant}See: troupe roles`);
  }
  return exitCodes.error;
}

function factsOf(role: LocatedRole) {
  return {
    id: role.id,
    name: role.name,
    description: role.description,
    from: role.from,
    replaces_builtin: role.replacesBuiltIn,
    access: role.access ?? null,
    engine: role.engine ?? null,
    model: role.model ?? null,
    path: role.path
  };
}

const columns: Column[] = [
  { heading: 'ID' },
  { heading: 'FROM', dropOrder: 1 },
  { heading: 'SETS', minWidth: 8, dropOrder: 2 },
  { heading: 'GOOD FOR', minWidth: 20 }
];

function row(role: LocatedRole): Cell[] {
  const { id, name, description, from, replacesBuiltIn } = role;
  const label = name === id ? '' : name;
  return [
    id,
    replacesBuiltIn ? 'replaces built-in' : from,
    settingsOf(role),
    [label, description].filter(Boolean).join(': ')
  ];
}

function settingsOf({ access, engine, model }: LocatedRole): string {
  return Object.entries({ access, engine, model })
    .flatMap(([key, value]) => (value === undefined ? [] : `${key} ${value}`))
    .join(', ');
}
