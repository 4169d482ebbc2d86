import { isObject } from '../config-overrides.ts';
import { councilPathOf } from '../council-config.ts';
import { listed, type Widening } from './asked.ts';
import { engineWidenings, type TimesOf } from './engine-widening.ts';
import { limitWidenings } from './limit-widening.ts';
import { pluginFiles, templateFiles } from './named-files.ts';
import { staysInside } from './places.ts';

export interface Surroundings {
  workspace: string;
  /** The configuration: relative paths of plugins start where it lies. */
  file: string;
  /** How long agents of an engine may take without any setting. */
  timesOf: TimesOf;
}

/**
 * What the configuration of a workspace asks for that could run code, redirect
 * a key or widen what agents may do. Everything else in it counts untrusted.
 */
export function wideningsIn(
  written: unknown,
  around: Surroundings
): Widening[] {
  if (!isObject(written)) return [];
  return [
    ...pluginWidening(written.plugins, around),
    ...engineWidenings(written.engines, around.timesOf),
    ...limitWidenings(written),
    ...retentionWidening(written.retention),
    ...rolesWidening(written.rolesDirectory, around),
    ...squadWidenings(written.squad, around),
    ...councilWidening(written.council, around),
    ...httpWidenings(written.http)
  ];
}

function pluginWidening(plugins: unknown, around: Surroundings): Widening[] {
  if (!Array.isArray(plugins) || plugins.length === 0) return [];
  const names = plugins.filter((plugin) => typeof plugin === 'string');
  return [
    {
      setting: 'plugins',
      path: ['plugins'],
      allows: `runs ${listed(names) || 'code'} as a part of troupe`,
      files: names.flatMap((name) => pluginFiles(name, around))
    }
  ];
}

function retentionWidening(retention: unknown): Widening[] {
  if (!isObject(retention) || retention.automatic !== true) return [];
  return [
    {
      setting: 'retention.automatic',
      path: ['retention', 'automatic'],
      allows: 'removes agents that have ended, without asking',
      files: []
    }
  ];
}

function rolesWidening(
  directory: unknown,
  { workspace }: Surroundings
): Widening[] {
  if (typeof directory !== 'string' || staysInside(workspace, directory))
    return [];
  return [
    {
      setting: 'rolesDirectory',
      path: ['rolesDirectory'],
      allows: `takes roles from ${directory}, outside the workspace`,
      files: []
    }
  ];
}

function squadWidenings(squad: unknown, around: Surroundings): Widening[] {
  if (!isObject(squad)) return [];
  const { engineCommand: program, templateVariables: names } = squad;
  const templates = [
    ['runTemplatePath', 'starts members of squads by the command in'],
    ['createChatTemplatePath', 'makes chats by the command in']
  ].flatMap(([key = '', words = '']) => {
    const file = squad[key];
    if (typeof file !== 'string') return [];
    const files = templateFiles(file, around.workspace);
    return [
      {
        setting: `squad.${key}`,
        path: ['squad', key],
        allows: `${words} ${file}`,
        files
      }
    ];
  });
  return [
    ...(typeof program === 'string'
      ? [squadWidening('engineCommand', `starts ${program} for squads`)]
      : []),
    ...templates,
    ...(Array.isArray(names) && names.length > 0
      ? [
          squadWidening(
            'templateVariables',
            `hands ${listed(names)} on to the programs of templates`
          )
        ]
      : [])
  ];
}

function squadWidening(key: string, allows: string): Widening {
  const path = ['squad', key];
  return { setting: path.join('.'), path, allows, files: [] };
}

function councilWidening(
  council: unknown,
  { workspace }: Surroundings
): Widening[] {
  if (!isObject(council) || typeof council.statePath !== 'string') return [];
  const { statePath } = council;
  const file = councilPathOf({ scope: 'user', statePath }, workspace);
  if (staysInside(workspace, file)) return [];
  return [
    {
      setting: 'council.statePath',
      path: ['council', 'statePath'],
      allows: `keeps the council in ${statePath}, outside the workspace`,
      files: []
    }
  ];
}

function httpWidenings(http: unknown): Widening[] {
  if (!isObject(http)) return [];
  return [
    ['allowedHosts', 'answers requests for the hosts'],
    ['allowedOrigins', 'answers pages of']
  ].flatMap(([key = '', words = '']) => {
    const names = http[key];
    if (!Array.isArray(names) || names.length === 0) return [];
    const path = ['http', key];
    const allows = `${words} ${listed(names)}`;
    return [{ setting: path.join('.'), path, allows, files: [] }];
  });
}
