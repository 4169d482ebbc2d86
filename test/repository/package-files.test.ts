import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { packageFiles } from '../../scripts/packages/package-files.mjs';
import { packageRoot } from '../kit/judges/documents.ts';

const json = (path: string): unknown =>
  JSON.parse(readFileSync(join(packageRoot, path), 'utf8'));
const about = z
  .looseObject({ name: z.string(), version: z.string(), mcpName: z.string() })
  .parse(json('package.json'));

/** What the files will be on the day the package is published. */
const published = { ...about, private: false, name: '@owner/troupe' };

/** Of the registry's schema of 2025-12-11, what an npm package can have. */
const input = {
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional()
};
const registryEntry = z.strictObject({
  $schema: z.literal(
    'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
  ),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  packages: z
    .tuple([
      z.strictObject({
        registryType: z.literal('npm'),
        identifier: z.string(),
        version: z.string().regex(/^\d+\.\d+\.\d+/),
        runtimeHint: z.literal('npx'),
        transport: z.strictObject({ type: z.literal('stdio') }),
        packageArguments: z.array(
          z.strictObject({ type: z.literal('positional'), value: z.string() })
        ),
        environmentVariables: z.array(
          z.strictObject({ name: z.string(), ...input })
        )
      })
    ])
    .optional()
});

test('every file for a client or a registry is as its source says', () => {
  for (const [path, text] of packageFiles(packageRoot))
    expect(readFileSync(join(packageRoot, path), 'utf8'), path).toBe(text);
});

test('each of them that has a version has that of the package', () => {
  const texts = [...packageFiles(packageRoot).values()];
  const versions = texts.flatMap((text) =>
    [...text.matchAll(/"version": "([^"]*)"/g)].map(([, version]) => version)
  );
  expect(versions).toHaveLength(6);
  expect(new Set(versions)).toEqual(new Set([about.version]));
});

test("the registry's entry has its form, and names no package before that is published", () => {
  const { packages, ...entry } = registryEntry.parse(json('server.json'));
  expect(entry).toMatchObject({ name: about.mcpName, version: about.version });
  expect(packages).toBeUndefined();
  const text = packageFiles(packageRoot, published).get('server.json') ?? '';
  const later = registryEntry.parse(JSON.parse(text));
  expect(later.packages?.[0].identifier).toBe(published.name);
});

test('clients start `troupe` from PATH, and the package by its name once that is published', () => {
  const startsIn = (files: Map<string, string>) =>
    [...files].flatMap(([path, text]) => {
      if (!path.endsWith('.json')) return [];
      const { mcpServers } = manifest.parse(JSON.parse(text));
      return mcpServers ? [mcpServers.agents] : [];
    });
  const now = startsIn(packageFiles(packageRoot));
  expect(now).toHaveLength(4);
  for (const { command, args } of now)
    expect([command, ...args]).toEqual(['troupe', 'mcp']);
  for (const { command, args } of startsIn(
    packageFiles(packageRoot, published)
  ))
    expect([command, ...args]).toEqual(['npx', '-y', published.name, 'mcp']);
});

const manifest = z.looseObject({
  mcpServers: z
    .object({
      agents: z.object({ command: z.string(), args: z.array(z.string()) })
    })
    .optional()
});

test('every prompt is a command, in the words of its file', () => {
  const files = packageFiles(packageRoot);
  const prompts = readdirSync(join(packageRoot, 'prompts'));
  expect(prompts.length).toBeGreaterThan(3);
  for (const file of prompts) {
    const name = file.replace(/\.md$/, '');
    const forms = [...files].filter(([path]) => path.includes(`/${name}`));
    expect(forms).toHaveLength(3);
    const text = readFileSync(join(packageRoot, 'prompts', file), 'utf8');
    const lastLine = text.trim().split('\n').at(-1) ?? '';
    for (const [, form] of forms) expect(form).toContain(lastLine);
  }
});
