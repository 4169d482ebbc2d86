import { isAbsolute, join } from 'node:path';
import type { OwnConfiguration } from '../../src/plugin/plugin.ts';

type Provider = Record<string, string>;

/** The variables that providers in the user's config.toml name. */
export function namedVariables(own: OwnConfiguration): string[] {
  return [...providersIn(configOf(own)).values()].flatMap((provider) =>
    Object.entries(provider).flatMap(([key, value]) =>
      key === 'env_key' || key.startsWith(pathOf('env_http_headers', ''))
        ? [value]
        : []
    )
  );
}

/**
 * The provider that config.toml selects, and its key variable. Undefined where
 * the login of Codex itself counts.
 */
export function chosenProvider(own: OwnConfiguration) {
  const config = configOf(own);
  const profile = config.get('profile');
  const name =
    config.get(pathOf('profiles', profile ?? '', 'model_provider')) ??
    config.get('model_provider');
  const provider = name && providersIn(config).get(name);
  if (!provider || provider.requires_openai_auth === 'true') return undefined;
  const { env_key: keyName } = provider;
  return { name, ...(keyName === undefined ? {} : { keyName }) };
}

function configOf({ environment, read }: OwnConfiguration) {
  const { HOME = '', CODEX_HOME = join(HOME, '.codex') } = environment;
  const text = isAbsolute(CODEX_HOME)
    ? read(join(CODEX_HOME, 'config.toml'))
    : undefined;
  return valuesOf(text ?? '');
}

function providersIn(config: Map<string, string>): Map<string, Provider> {
  const providers = new Map<string, Provider>();
  for (const [path, value] of config) {
    const [first, name = '', ...rest] = path.split(separator);
    if (first !== 'model_providers') continue;
    const provider = providers.get(name);
    providers.set(name, { ...provider, [pathOf(...rest)]: value });
  }
  return providers;
}

const part = String.raw`(?:[\w-]+|"[^"]*"|'[^']*')`;
const path = String.raw`${part}(?:\s*\.\s*${part})*`;
const heading = new RegExp(String.raw`^\s*\[\s*(${path})\s*\]`);
const pair = new RegExp(
  String.raw`^[\s,]*(${path})\s*=\s*(?:"([^"]*)"|'([^']*)'|(true|false)|(\{))`
);

/**
 * Strings and booleans of a TOML text by their path. It reads as much of
 * TOML as settings of providers need: no escapes and no multi-line values.
 */
function valuesOf(toml: string): Map<string, string> {
  const values = new Map<string, string>();
  let table = '';
  for (const line of toml.split(/\r?\n/)) {
    const found = heading.exec(line)?.[1];
    if (found !== undefined) table = pathOf(...partsOf(found), '');
    else if (/^\s*\[/.test(line)) table = pathOf('[[]]', '');
    else readPairs(line, table, values);
  }
  return values;
}

function readPairs(
  text: string,
  table: string,
  values: Map<string, string>
): void {
  const prefixes = [table];
  let rest = text;
  while (rest !== '') {
    const end = /^[\s,]*\}/.exec(rest);
    const found = end ? undefined : pair.exec(rest);
    if (end) prefixes.pop();
    const last = prefixes.at(-1);
    if ((!end && !found) || last === undefined) return;
    if (found) {
      const [, name = '', plain, literal, truth, opening] = found;
      const key = `${last}${pathOf(...partsOf(name))}`;
      if (opening) prefixes.push(pathOf(key, ''));
      else values.set(key, plain ?? literal ?? truth ?? '');
    }
    rest = rest.slice((end ?? found)?.[0].length);
  }
}

function partsOf(name: string): string[] {
  const parts = name.match(new RegExp(part, 'g')) ?? [];
  return parts.map((one) => one.replace(/^["']|["']$/g, ''));
}

/** Quoted keys may contain dots. */
const separator = '\n';

function pathOf(...parts: string[]): string {
  return parts.join(separator);
}
