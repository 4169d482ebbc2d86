import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { configSchema } from '../../src/config/schema.ts';
import { messageOf } from '../../src/core/errors.ts';
import { packageRoot } from '../kit/judges/documents.ts';
import { type Block, callsIn } from './blocks.ts';
import { faultOf, mentionFault } from './own-commands.ts';
import { commandsIn } from './shell-words.ts';
import { tomlTables } from './simple-toml.ts';
import type { InputJudge } from './tool-inputs.ts';

/** What nothing of the kinds that are known here can judge. */
const unknownKind = 'nothing here can judge it';

/** What is wrong with a block; undefined when nothing is. */
export function blockFault(
  block: Block,
  judge: InputJudge
): string | undefined {
  const { language, body } = block;
  try {
    switch (language) {
      case 'json':
        return jsonFault(block);
      case 'jsonc':
        return objectFault(
          JSON.parse(body.replace(/^\s*\/\/.*$/gm, '')),
          block
        );
      case 'yaml':
        return objectFault(parseYaml(body), block);
      case 'toml':
        return tomlFault(body);
      case 'sh':
      case 'bash':
        return commandsFault(body);
      case 'console':
        return commandsFault((body.match(/(?<=^\$ ).*/gm) ?? []).join('\n'));
      case 'js':
        return scriptFault(body);
      case 'text':
        return textFault(body, judge);
      case '':
        return synopsisFault(body);
      default:
        return unknownKind;
    }
  } catch (error) {
    return messageOf(error);
  }
}

function jsonFault(block: Block): string | undefined {
  return objectFault(JSON.parse(block.body), block);
}

const configKeys = Object.keys(configSchema().shape);

const serversSchema = z.record(
  z.string(),
  z.union([
    z.looseObject({ command: z.string(), args: z.array(z.string()) }),
    z
      .looseObject({ url: z.url() })
      .or(z.looseObject({ httpUrl: z.url() }))
      .or(z.looseObject({ serverUrl: z.url() }))
  ])
);

/** Hooks in the settings of Claude Code. */
const hooksSchema = z.record(
  z.string(),
  z.array(
    z.strictObject({
      matcher: z.string(),
      hooks: z.array(
        z.strictObject({
          type: z.literal('command'),
          command: z.string(),
          asyncRewake: z.boolean(),
          timeout: z.number()
        })
      )
    })
  )
);

/** A status line in the settings of Claude Code. */
const statusLineSchema = z.strictObject({
  type: z.literal('command'),
  command: z.string()
});

function hooksFault(hooks: z.output<typeof hooksSchema>): string | undefined {
  const entries = Object.values(hooks).flat();
  const commands = entries.flatMap((entry) => entry.hooks);
  return commandsFault(commands.map(({ command }) => command).join('\n'));
}

function objectFault(value: unknown, block: Block): string | undefined {
  const entries = z.record(z.string(), z.unknown()).parse(value);
  const keys = Object.keys(entries);
  const { mcpServers, servers } = entries;
  if (mcpServers ?? servers)
    return serversFault(serversSchema.parse(mcpServers ?? servers));
  if (entries.statusLine)
    return commandsFault(statusLineSchema.parse(entries.statusLine).command);
  if (entries.hooks) return hooksFault(hooksSchema.parse(entries.hooks));
  if (keys.every((key) => configKeys.includes(key))) {
    const { error } = configSchema().safeParse(value);
    return error && z.prettifyError(error);
  }
  if (keys.every((key) => /^[A-Z_]+_API_KEY$/.test(key)))
    return keyNamesFault(keys);
  if ('name' in entries && 'version' in entries && 'scripts' in entries)
    return undefined;
  return answerTool(block) === undefined ? unknownKind : undefined;
}

/** The tool that answers with a block of JSON, by what stands before it. */
export function answerTool({
  path,
  heading,
  body,
  before
}: Block): string | undefined {
  const call =
    before?.language === 'text' ? callsIn(before.body).at(-1) : undefined;
  if (/^\s*\{\s*"error_code"/.test(body)) return 'error';
  if (call) return call.tool;
  if (before && answerTool(before) && before.language === 'json')
    return answerTool(before);
  if (path === 'docs/guides/audit-log.md') return 'record';
  return path === 'docs/guides/tools.md' || /^[a-z]+_[a-z_]+$/.test(heading)
    ? heading
    : undefined;
}

function serversFault(
  servers: z.output<typeof serversSchema>
): string | undefined {
  for (const entry of Object.values(servers)) {
    const { command, args } = entry;
    if (typeof command !== 'string' || !Array.isArray(args)) continue;
    const fault = faultOf([command, ...args.map(String)]);
    if (fault) return fault;
  }
  return undefined;
}

function keyNamesFault(keys: string[]): string | undefined {
  const file = readFileSync(join(packageRoot, 'api_keys.example.json'), 'utf8');
  const known = Object.keys(JSON.parse(file));
  const others = keys.filter((key) => !known.includes(key));
  return others.length > 0
    ? `api_keys.example.json has no ${others.join(', ')}`
    : undefined;
}

function tomlFault(body: string): string | undefined {
  const entries = [...tomlTables(body)].flatMap(([name, { command, args }]) =>
    name.startsWith('mcp_servers.') && command !== undefined
      ? [[name, { command, args: args ?? [] }]]
      : []
  );
  return serversFault(serversSchema.parse(Object.fromEntries(entries)));
}

function commandsFault(body: string): string | undefined {
  for (const words of commandsIn(body)) {
    const fault = faultOf(words);
    if (fault) return `${words.join(' ')}: ${fault}`;
  }
  return undefined;
}

/** Parts of an object stand for themselves; whole modules are parsed. */
function scriptFault(body: string): string | undefined {
  const isPart = /^\w+: /.test(body);
  const text = isPart
    ? `({${body}})`
    : body
        .replace(/^import .*;$/gm, '')
        .replace(/^export default /gm, 'const engine = ')
        .replace(/^export /gm, '');
  // It is only compiled.
  new Function(`return async () => { ${text} }`);
  return undefined;
}

function textFault(body: string, judge: InputJudge): string | undefined {
  const calls = callsIn(body);
  if (calls.length === 0) return unknownKind;
  return calls
    .map(({ tool, input }) => judge(tool, input))
    .find((fault) => fault !== undefined);
}

/** `troupe run ENGINE [--model NAME]`: its flags have to be there. */
function synopsisFault(body: string): string | undefined {
  const lines = body.trim().split('\n');
  if (!lines.every((line) => /^(troupe|council) /.test(line)))
    return unknownKind;
  return lines.map(mentionFault).find((fault) => fault !== undefined);
}
