import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { hostErrorCodes } from '../../src/core/errors.ts';
import {
  type Import,
  importsOf,
  isProduct,
  root,
  type SourceFile,
  sourceFiles,
  tableCodes
} from '../kit/judges/source-files.ts';

const files = sourceFiles('src', 'plugins', 'web', 'test', 'bench', 'scripts');
const product = files.filter(isProduct);
const below = (directory: string) =>
  product.filter(({ path }) => path.startsWith(`${directory}/`));

/** Pure libraries: no processes, no network, no files of their own. */
const pureLibraries = [
  'zod',
  'yaml',
  'eta',
  'shell-quote',
  'p-queue',
  '@pydantic/genai-prices'
];

/** Programs of their own, which only happen to lie here. */
const programs = [
  'plugins/rehearsal/rehearsal-agent.ts',
  'plugins/rehearsal/rehearsal-worker.ts'
];

function breaches(
  from: SourceFile[],
  isAllowed: (found: Import) => boolean
): string[] {
  return from
    .flatMap(importsOf)
    .filter((found) => !isAllowed(found))
    .map(({ from, target }) => `${from} imports ${target}`);
}

function isBuiltin({ target }: Import): boolean {
  return target.startsWith('node:');
}

test('the import lines are found at all', () => {
  const found = product.flatMap(importsOf);
  expect(found.length).toBeGreaterThan(200);
  expect(found.some(({ lazy }) => lazy)).toBe(true);
  expect(found.some(({ typeOnly }) => typeOnly)).toBe(true);
});

test('the plugin contract is types, and imports nothing else', () => {
  const contract = below('src/plugin');
  expect(contract.length).toBeGreaterThan(2);
  const isOwn = ({ target }: Import) => target.startsWith('src/plugin/');
  expect(breaches(contract, isOwn)).toEqual([]);
  const code = /^(export )?(default|const|let|function|class|enum)\b/m;
  expect(contract.filter(({ text }) => code.test(text))).toEqual([]);
});

test('the core knows node, the contract, itself and pure libraries', () => {
  const isAllowed = (found: Import) =>
    isBuiltin(found) ||
    found.target === 'src/plugin/plugin.ts' ||
    found.target.startsWith('src/core/') ||
    pureLibraries.includes(found.target);
  expect(breaches(below('src/core'), isAllowed)).toEqual([]);
});

test('answers know the core and no interface', () => {
  const isAllowed = (found: Import) =>
    isBuiltin(found) || /^src\/(core|answers|plugin)\//.test(found.target);
  expect(breaches(below('src/answers'), isAllowed)).toEqual([]);
});

test('plugins know the types of the contract, and their own SDK lazily', () => {
  const isSdk = (path: string) => path.startsWith('plugins/sdk/');
  const isAllowed = (found: Import) =>
    isBuiltin(found) ||
    (found.target === 'src/plugin/plugin.ts' && found.typeOnly) ||
    (found.target.startsWith('plugins/') &&
      (!isSdk(found.target) || found.lazy)) ||
    // What of it is used; nothing else is in there.
    (isSdk(found.from) && !found.target.startsWith('src/')) ||
    // A program of its own, which the server only starts.
    programs.includes(found.from) ||
    (!found.target.startsWith('src/') && (found.lazy || found.typeOnly));
  expect(breaches(below('plugins'), isAllowed)).toEqual([]);
});

test('no folder has more than 15 production files', () => {
  const sizes: Record<string, number> = {};
  for (const { path } of [...below('src'), ...below('plugins')]) {
    const folder = posix.dirname(path);
    sizes[folder] = (sizes[folder] ?? 0) + 1;
  }
  const full = Object.entries(sizes).filter(([, size]) => size > 15);
  expect(full).toEqual([]);
});

test('no files import each other in a circle, types included', () => {
  const imports = new Map(
    [...below('src'), ...below('plugins')].map((file) => [
      file.path,
      importsOf(file).map(({ target }) => target)
    ])
  );
  // A file without imports of remaining files is in no circle.
  for (let before = -1; before !== imports.size; ) {
    before = imports.size;
    for (const [path, targets] of imports)
      if (!targets.some((target) => imports.has(target))) imports.delete(path);
  }
  expect([...imports.keys()]).toEqual([]);
});

test('no two folders of the core import each other both ways', () => {
  const pairs = new Set(
    below('src/core')
      .flatMap(importsOf)
      .filter(({ target }) => target.startsWith('src/core/'))
      .map(({ from, target }) => [posix.dirname(from), posix.dirname(target)])
      .filter(([from, target]) => from !== target)
      .map(([from, target]) => `${from} and ${target}`)
  );
  const both = [...pairs].filter((pair) =>
    pairs.has(pair.split(' and ').reverse().join(' and '))
  );
  expect(both).toEqual([]);
});

test('the core names no tool and no engine', () => {
  const tools = [...below('src/interfaces')].flatMap(({ text }) =>
    [...text.matchAll(/defineTool\(\{\s*name: '(\w+)'/g)].map(
      ([, name = '']) => name
    )
  );
  expect(tools).toContain('wait_for_agents');
  const engines = below('plugins').flatMap(({ text }) =>
    /^\} satisfies (Cli|Api)Engine;$/m.test(text)
      ? [/^ {2}name: '([\w-]+)'/m.exec(text)?.[1] ?? '']
      : []
  );
  expect(engines).toContain('claude');
  // `list` and `result` are words of every day too.
  const names = [
    ...tools
      .filter((name) => name.includes('_'))
      .map((name) => `\\b${name}\\b`),
    ...engines.map((name) => `(?<=['"\`])${name}(?=['"\`])`)
  ];
  const named = new RegExp(names.join('|'), 'g');
  const found = below('src/core').flatMap(({ path, text }) => {
    const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    return [...new Set(code.match(named))].map((name) => `${path}: ${name}`);
  });
  expect(found).toEqual([]);
});

test('only the doors know the host', () => {
  const isDoor = ({ from }: Import) =>
    /^src\/(cli|interfaces)\//.test(from) || from === 'src/index.ts';
  expect(
    breaches(
      product,
      (found) => found.target !== 'src/host/host.ts' || isDoor(found)
    )
  ).toEqual([]);
});

test('adapters know the core, never an interface, a plugin or the command line', () => {
  expect(
    breaches(
      below('src/adapters'),
      ({ target }) =>
        !/^(src\/(interfaces|cli|host|config)|plugins|test)/.test(target)
    )
  ).toEqual([]);
});

test('only the host chooses adapters and plugins', () => {
  const isFree = ({ from, target }: Import) =>
    !/^(src\/adapters|plugins)\//.test(target) ||
    /^(src\/adapters|plugins|src\/cli|bench|scripts)\//.test(from) ||
    /^src\/host\//.test(from);
  expect(breaches(product, isFree)).toEqual([]);
});

test('the page imports its own files and libraries, and nothing of the server', () => {
  const isAllowed = (found: Import) =>
    !isBuiltin(found) && !/^(src|plugins|test)\//.test(found.target);
  expect(below('web').length).toBeGreaterThan(20);
  expect(breaches(below('web'), isAllowed)).toEqual([]);
});

test('only the page and its command load what the page needs', () => {
  const isOurs = ({ from }: Import) =>
    /^src\/(interfaces\/web\/|cli\/(commands\/serve|entry)\/web)/.test(from);
  expect(
    breaches(
      below('src'),
      (found) =>
        !found.target.startsWith('src/interfaces/web/') || isOurs(found)
    )
  ).toEqual([]);
});

test('no product code needs what is there for tests', () => {
  expect(
    breaches(
      product.filter(({ path }) => /^(src|plugins)\//.test(path)),
      ({ target }) => !/^test\/|\.test\.ts$|^vitest/.test(target)
    )
  ).toEqual([]);
});

test('an engine is one file and one line in a list, and nothing else', () => {
  const files = [...below('plugins'), ...below('src'), ...below('scripts')];
  const engines = below('plugins').filter(({ text }) =>
    /^\} satisfies (Cli|Api)Engine;$/m.test(text)
  );
  expect(engines.length).toBeGreaterThan(8);
  for (const { path } of engines) {
    const file = path.replace('plugins/', './');
    const mentions = files.flatMap(({ path: from, text }) =>
      text
        .split('\n')
        .filter((line) => line.includes(`'${file}'`))
        .map((line) => `${from}: ${line}`)
    );
    expect(mentions, path).toHaveLength(1);
    expect(mentions[0]).toMatch(
      new RegExp(`^plugins/index.ts: import \\w+ from '${file}';$`)
    );
  }
});

test('every code is in docs/reference/errors.md, and no other is', () => {
  expect(
    tableCodes('docs/reference/errors.md', 'Wrong questions').sort()
  ).toEqual([...hostErrorCodes].sort());
  const contract = readFileSync(join(root, 'src/plugin/reply.ts'), 'utf8');
  const union = /export type FailureCode =([^;]*);/.exec(contract)?.[1] ?? '';
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(15);
  expect(
    tableCodes('docs/reference/errors.md', 'Failed agents').sort()
  ).toEqual(codes.sort());
});

test('every code of a wrong question is used somewhere', () => {
  const all = below('src')
    .filter(({ path }) => path !== 'src/core/errors.ts')
    .map(({ text }) => text)
    .join('\n');
  const errors = product.find(({ path }) => path === 'src/core/errors.ts');
  const inFunctions = errors?.text.split('] as const')[1] ?? '';
  for (const code of hostErrorCodes)
    expect(`${all}${inFunctions}`, code).toContain(`'${code}'`);
});

test('every error says what to do next', () => {
  const bare =
    /new HostError\((?:(?!\n {0,6}\);|;\n)[\s\S])*?,\s*(''|"")\s*[,)]/;
  expect(
    bare.test("new HostError(\n  'internal',\n  `It (x) fell.`,\n  ''\n)")
  ).toBe(true);
  expect(product.filter(({ text }) => bare.test(text))).toEqual([]);
});

test('stdout belongs to the protocol: only the command line writes to it', () => {
  const writing =
    /console\.(log|info|debug|table|dir|group)\b|process\.stdout\.(write|end)|write(File)?Sync\(\s*1\b/;
  const loud = product.filter(
    ({ path, text }) =>
      /^(src|plugins)\//.test(path) &&
      !path.startsWith('src/cli/') &&
      !programs.includes(path) &&
      writing.test(text)
  );
  expect(loud.map(({ path }) => path)).toEqual([]);
});

test('no file is longer than 350 lines', () => {
  const long = files.filter(({ lines }) => lines > 350);
  expect(long.map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
});

test('nothing is of type any, and no check is switched off in place', () => {
  const biome = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  expect(biome.linter.rules.suspicious.noExplicitAny).toBe('error');
  expect(biome.linter.rules.style.noNonNullAssertion).toBe('error');
  const excuse = /(?:\/\/|\/\*)\s*(?:biome-ignore|@ts-|eslint-)/;
  const excused = files.filter(({ text }) => excuse.test(text));
  expect(excused.map(({ path }) => path)).toEqual([]);
});

test('there are two index files, no other barrels, and no drawers', () => {
  const paths = files.map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith('/index.ts')).sort()).toEqual([
    'plugins/index.ts',
    'src/index.ts'
  ]);
  const drawers = /\/(utils?|helpers?|types|common|misc)(\/|\.ts)/;
  expect(paths.filter((path) => drawers.test(path))).toEqual([]);
  const barrels = product.filter(
    ({ path, text }) =>
      !path.endsWith('/index.ts') && /^export (type )?\* from/m.test(text)
  );
  expect(barrels.map(({ path }) => path)).toEqual([]);
});

test('files are named in kebab-case', () => {
  const odd = files.filter(
    ({ path }) => !/^[a-z0-9-]+(\.(test|d))?\.(ts|mjs|cjs)$/.test(nameOf(path))
  );
  expect(odd.map(({ path }) => path)).toEqual([]);
});

function nameOf(path: string): string {
  return path.split('/').at(-1) ?? '';
}
