import type { Command } from 'commander';
import {
  type Config,
  type LoadedConfig,
  loadWithOrigin
} from '../../../config/config.ts';
import { isCode } from '../../../config/file.ts';
import {
  isObject,
  type Override,
  sourceOf,
  usualToolsets
} from '../../../config/overrides.ts';
import { defaultEngine, usualRoles } from '../../../config/squads.ts';
import type { Asked, Trust } from '../../../config/trust.ts';
import { print, printJson, report } from '../../output/output.ts';
import { type Column, columns, table } from '../../output/table.ts';
import { exitWith } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

interface Setting {
  path: string[];
  value: unknown;
  /** The name of a flag or a variable, or `file`, or `default`. */
  from: string;
}

export function addConfig(program: Command): void {
  addWorkspaceFlags(
    program
      .command('config')
      .description('the settings in effect here, and where each comes from')
      .option('--json', 'print JSON'),
    ['troupe config', 'troupe config --json']
  ).action(async (flags: WorkspaceFlags) => exitWith(await config(flags)));
}

async function config({ json, ...flags }: WorkspaceFlags): Promise<number> {
  // Loads the settings as a server does.
  const loaded = await loadWithOrigin({ ...flags, forSquads: true });
  const { workspace, file, onlyEngines, trust } = loaded.config;
  const settings = settingsOf(loaded);
  if (json)
    await printJson({
      workspace,
      file: file ?? null,
      only_engines: onlyEngines ?? null,
      left_out: trust.leftOut.map(({ setting }) => setting),
      settings
    });
  else {
    const facts = [
      ['workspace', workspace],
      ['file', [file ?? 'none', ...notRun(trust)].join('; ')],
      ...(onlyEngines ? [['engines', `only ${onlyEngines.join(', ')}`]] : [])
    ];
    await print(`${columns(facts)}\n`);
    await print(table(columnsOfSettings, settings.map(row)));
  }
  for (const one of trust.leftOut)
    report(`${one.setting} is left out: ${whyLeftOut(one)}`);
  if (trust.leftOut.length > 0)
    report('to see what this workspace would be allowed: troupe trust');
  return exitCodes.done;
}

function notRun({ leftOut }: Trust): string[] {
  return leftOut
    .filter(isCodeFile)
    .map(({ setting }) => `${setting} is code and was not run`);
}

function isCodeFile({ path, setting }: Asked): boolean {
  return path === undefined && isCode(setting);
}

function whyLeftOut(asked: Asked): string {
  return isCodeFile(asked)
    ? 'it is code, and was not run, since this workspace is not trusted'
    : 'this workspace is not trusted';
}

function settingsOf({ config, written, overrides }: LoadedConfig): Setting[] {
  const { workspace, home, file, onlyEngines, strict, trust, ...settled } =
    config;
  return leavesOf(withDefaults(settled)).map(([path, value]) => ({
    path,
    value: isSecret(path) ? '(hidden)' : value,
    from: originOf(path, written, overrides)
  }));
}

/** Defaults that the schema does not set. */
function withDefaults(settled: Partial<Config>) {
  return {
    toolsets: usualToolsets,
    rolesDirectory: usualRoles,
    ...settled,
    squad: {
      // With a template, its program decides what members run on.
      ...(settled.squad?.runTemplatePath ? {} : { engine: defaultEngine }),
      ...settled.squad
    }
  };
}

/** All values that are not objects, with their paths. */
function leavesOf(value: unknown, path: string[] = []): [string[], unknown][] {
  if (value === undefined) return [];
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner, [...path, name])
  );
}

function originOf(
  path: string[],
  written: Record<string, unknown>,
  overrides: Override[]
): string {
  const source = sourceOf(path, overrides);
  if (source !== undefined) return source;
  let found: unknown = written;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return found === undefined ? 'default' : 'file';
}

/** True for environment variables of engines, which may be keys. */
function isSecret([first, , third]: string[]): boolean {
  return first === 'engines' && third === 'env';
}

const columnsOfSettings: Column[] = [
  { heading: 'SETTING', minWidth: 24 },
  { heading: 'FROM', minWidth: 8 },
  { heading: 'VALUE', minWidth: 16 }
];

function row({ path, value, from }: Setting): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return [path.join('.'), from, text];
}
